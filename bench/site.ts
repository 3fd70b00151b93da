/** Builds the page of the benchmarks from the sources as they are and serves it beside models and plans. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { createSignalingServer } from '../signaling/server.ts';
import { BenchPlans } from './plans.ts';

export interface BenchSite {
  /** Of the page. */
  readonly pageUrl: string;
  readonly port: number;
  readonly plans: BenchPlans;
  close(): Promise<void>;
}

/** Listens on `host`; this machine's own browsers find it at `name`. */
export async function serveBenchSite(host: string, name: string): Promise<BenchSite> {
  const folder = await mkdtemp(join(tmpdir(), 'starling-bench-'));
  const [page, data] = [join(folder, 'page'), join(folder, 'data')];
  await mkdir(data);
  await build({
    configFile: fileURLToPath(new URL('../vite.config.ts', import.meta.url)),
    logLevel: 'error',
    publicDir: false,
    build: {
      outDir: page,
      rollupOptions: { input: fileURLToPath(new URL('./page/index.html', import.meta.url)) },
    },
  });
  const server = await createSignalingServer({ host, mounts: { '/page': page, '/': data } });
  return {
    pageUrl: `http://${name}:${server.port}/page/bench/page/index.html`,
    port: server.port,
    plans: new BenchPlans(data, await createHeapBackend({ threads: 1 })),
    async close() {
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}
