import { afterEach, expect, it, vi } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { compileModel } from '../compiler/compile.ts';
import { tinyUpscaler } from '../tests/e2e/support/tinyUpscaler.ts';
import { DeviceWorker } from './deviceWorkerApi.ts';

afterEach(() => vi.unstubAllGlobals());

const url = 'https://example.org/plan/plan.json';
const question = { urls: [url], devices: [{ id: 'a', speed: 1 }], links: [] };

it('can become host of a plan that it has open, though the server that it came from is gone', async () => {
  const { files } = await compileModel(tinyUpscaler(8), {
    name: 'tiny',
    numShards: 2,
    axis: 'rows',
    backend: await createHeapBackend(),
  });
  const server = { there: true };
  vi.stubGlobal('fetch', async (address: string) => {
    if (!server.there) throw new TypeError('Failed to fetch');
    return new Response(files.get(address.slice(url.lastIndexOf('/') + 1))?.slice());
  });
  const device = new DeviceWorker();
  const { sha256 } = await device.openPlan({ url, sha256: null });
  server.there = false;
  const forecasts = await device.forecast(question);
  expect(forecasts).toMatchObject([{ url, sha256, devices: ['a'], shards: [[0, 1]] }]);
  await expect(new DeviceWorker().forecast(question)).rejects.toMatchObject({ code: 'PLAN_NOT_FOUND' });
});
