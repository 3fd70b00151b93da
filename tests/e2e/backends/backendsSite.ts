/** Serves the page and the Worker of backends.spec.ts and onnxruntime-web's files, isolated or not. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { ortFiles } from '../../../backends/ortModule.ts';

export interface BackendsSite {
  /** Address of the page, with or without the headers that isolate it. */
  url(isolated: boolean): string;
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
  for (const output of Array.isArray(result) ? result : [result])
    if ('output' in output) for (const chunk of output.output) if (chunk.type === 'chunk') return chunk.code;
  throw new Error(`${file} has no bundle.`);
}

export async function serveBackendsSite(): Promise<BackendsSite> {
  const page = '<!doctype html><title>backends</title><script type="module" src="/page.js"></script>';
  const files = new Map<string, string>([
    ['/isolated.html', page],
    ['/plain.html', page],
    ['/page.js', await bundle('./backendsPage.ts')],
    ['/worker.js', await bundle('./backendsWorker.ts')],
  ]);
  const ortNames = new Set<string>(Object.values(ortFiles).flat());
  const dist = new URL('../../../node_modules/onnxruntime-web/dist/', import.meta.url);
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const ortName = path.startsWith('/ort/') ? path.slice('/ort/'.length) : '';
    const body = ortNames.has(ortName) ? readFileSync(new URL(ortName, dist)) : files.get(path);
    if (body === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      'content-type': contentTypes.find(([ending]) => path.endsWith(ending))?.[1] ?? 'text/plain',
      ...(path === '/plain.html' ? {} : isolation),
    });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (isolated) => `http://127.0.0.1:${port}/${isolated ? 'isolated' : 'plain'}.html`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const isolation = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

const contentTypes = [
  ['.html', 'text/html'],
  ['js', 'text/javascript'],
  ['.wasm', 'application/wasm'],
] as const;
