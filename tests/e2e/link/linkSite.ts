/** Serves the page and the Worker of the link tests, bundled on the spot. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

export interface LinkSite {
  readonly url: string;
  close(): void;
}

async function bundle(file: string): Promise<string> {
  const result = await build({
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    build: {
      write: false,
      target: 'es2022',
      lib: { entry: fileURLToPath(new URL(file, import.meta.url)), formats: ['es'] },
    },
  });
  const outputs = Array.isArray(result) ? result : [result];
  for (const output of outputs)
    if ('output' in output) for (const chunk of output.output) if (chunk.type === 'chunk') return chunk.code;
  throw new Error(`${file} has no bundle.`);
}

export async function serveLinkSite(host = '127.0.0.1'): Promise<LinkSite> {
  const [page, worker] = [await bundle('./linkPage.ts'), await bundle('./linkWorker.ts')];
  const files: Record<string, readonly [string, string]> = {
    '/': ['text/html', '<!doctype html><title>link</title><script type="module" src="/page.js"></script>'],
    '/page.js': ['text/javascript', page],
    '/worker.js': ['text/javascript', worker],
  };
  const server = createServer((request, response) => {
    const file = files[request.url ?? ''];
    if (file === undefined) response.writeHead(404).end();
    else
      response
        .writeHead(200, {
          'content-type': file[0],
          // Isolated pages have a finer clock.
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-embedder-policy': 'require-corp',
        })
        .end(file[1]);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}/`,
    close: () => server.close(),
  };
}
