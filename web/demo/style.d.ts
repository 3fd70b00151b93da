/** The bundler takes style sheets as imports; for the compiler they have no content. */
declare module '*.css';
