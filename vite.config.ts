/**
 * Two builds of the same sources: the page (default, into dist/page) and the library (`--mode library`, into
 * dist/lib). Both have each Worker as one self-contained file and onnxruntime-web's files in `ort/` beside them.
 */
import { cp, mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { ortFiles } from './backends/ortModule.ts';

const root = fileURLToPath(new URL('.', import.meta.url));
const ortDirectory = dirname(createRequire(import.meta.url).resolve('onnxruntime-web'));
const ortFileNames = [...new Set(Object.values(ortFiles).flat())];

/** Serves onnxruntime-web's files in development, and copies them, as they are: they find each other by name. */
function ortFilesPlugin(folder: string): Plugin {
  let target = '';
  return {
    name: 'starling-ort-files',
    configResolved({ root: base, build: { outDir } }) {
      target = join(resolve(base, outDir), folder);
    },
    configureServer(server) {
      server.middlewares.use((request, _response, next) => {
        const name = basename(request.url?.split('?', 1)[0] ?? '');
        const wanted = request.url?.startsWith('/web/ort/') === true && ortFileNames.some((f) => f === name);
        if (wanted) request.url = `/@fs${join(ortDirectory, name)}`;
        next();
      });
    },
    async closeBundle() {
      await mkdir(target, { recursive: true });
      await Promise.all(ortFileNames.map((name) => cp(join(ortDirectory, name), join(target, name))));
    },
  };
}

const token = '__starling_ort_file__/';

/**
 * Names each of onnxruntime-web's files in the library as `new URL("ort/NAME", import.meta.url)`: the one form that
 * every bundler of a consumer recognises, so that it takes the files along without being told. Written into the
 * finished chunk, because this build would inline them.
 */
function ortAddressesPlugin(): Plugin {
  const addresses = Object.fromEntries(ortFileNames.map((name) => [name, token + name]));
  return {
    name: 'starling-ort-addresses',
    transform(_code, id) {
      if (!id.endsWith('/web/defaultWasmBase.ts')) return null;
      return { code: `export const defaultWasmBase = () => (${JSON.stringify(addresses)});`, map: null };
    },
    renderChunk(code) {
      const quoted = new RegExp(`(["'\`])${token}([^"'\`]+)\\1`, 'g');
      return { code: code.replace(quoted, 'new URL("ort/$2", import.meta.url).href'), map: null };
    },
  };
}

/** Isolation, which threads need; the product's own server sends the same. */
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/** How long each plugin took interests nobody who only starts the server. */
const quiet = { checks: { bundlerTimings: false } };

export default defineConfig(({ mode }) => {
  const library = mode === 'library';
  return {
    root,
    base: './',
    publicDir: library ? false : 'public',
    server: { headers },
    plugins: [ortFilesPlugin(library ? 'ort' : 'assets/ort'), ...(library ? [ortAddressesPlugin()] : [])],
    worker: {
      format: 'es',
      rollupOptions: { output: { entryFileNames: library ? '[name].js' : 'assets/[name]-[hash].js' } },
    },
    build: {
      outDir: library ? 'dist/lib' : 'dist/page',
      emptyOutDir: true,
      target: 'es2022',
      ...(library
        ? {
            sourcemap: true,
            lib: {
              entry: { index: join(root, 'web/index.ts'), element: join(root, 'web/element.ts') },
              formats: ['es' as const],
            },
            rollupOptions: { ...quiet, output: { chunkFileNames: '[name].js' } },
          }
        : { rollupOptions: quiet }),
    },
  };
});
