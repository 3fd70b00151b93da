/** The backends in a module Worker of a real browser, against the heap backend in Node. */
import { expect, type Page, test } from '@playwright/test';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { dataTypeCodes } from '../../graph/dataTypeCodes.ts';
import { type DataType, float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import { chromiumOptions } from '../../scripts/browserOptions.ts';
import { castModel, convolutionModel } from '../support/backendModels.ts';
import { runOnce } from '../support/runOnce.ts';
import { type BackendsSite, serveBackendsSite } from './backends/backendsSite.ts';
import type { ChainRequest, ChainResult } from './backends/backendsWorker.ts';

// A name of the loopback that is no secure context, as an address on a local network is none.
const insecureHost = 'starling.test';
test.use({
  launchOptions: chromiumOptions([
    // A software adapter, so that WebGPU is there on a machine without a GPU.
    '--enable-unsafe-webgpu',
    `--host-resolver-rules=MAP ${insecureHost} 127.0.0.1`,
  ]),
});

const dims = [1, 3, 5, 3] as const;
const convolutions = [
  convolutionModel(dims, 4),
  convolutionModel([1, 4, 5, 3], 3),
  convolutionModel(dims, 2),
];
const input = float32Tensor(
  dims,
  Float32Array.from({ length: 45 }, (_, i) => ((i * 7) % 11) - 3),
);

let site: BackendsSite;
let expected: readonly Tensor[];

test.beforeAll(async () => {
  site = await serveBackendsSite();
  expected = await chainInNode(convolutions);
});
test.afterAll(() => site.close());

async function chainInNode(models: readonly Uint8Array[]): Promise<readonly Tensor[]> {
  const backend = await createHeapBackend();
  const outputs: Tensor[] = [];
  for (const model of models) {
    const { y } = Object.fromEntries(
      await runOnce(backend, model, new Map([['x', outputs.at(-1) ?? input]])),
    );
    if (y !== undefined) outputs.push(y);
  }
  expect(outputs).toHaveLength(models.length);
  return outputs;
}

async function chainInPage(
  page: Page,
  isolated: boolean,
  request: Pick<ChainRequest, 'backend' | 'threads'> & Partial<ChainRequest>,
): Promise<ChainResult> {
  await page.goto(site.url(isolated));
  await page.waitForFunction(() => window.runChain !== undefined);
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(isolated);
  const chain = { models: convolutions, input, runs: 2, ...request };
  return page.evaluate((sent) => window.runChain(sent), chain);
}

function expectSameBits(outputs: readonly Tensor[], reference: readonly Tensor[]): void {
  expect(outputs.map(({ dataType, dims }) => ({ dataType, dims }))).toEqual(
    reference.map(({ dataType, dims }) => ({ dataType, dims })),
  );
  for (const [i, { data }] of outputs.entries()) expect([...data]).toEqual([...(reference[i]?.data ?? [])]);
}

test('WASM on one thread where the page is not isolated', async ({ page }) => {
  const { info, outputs } = await chainInPage(page, false, { backend: 'auto', threads: 4 });
  expect(info).toEqual({
    kind: 'wasm',
    threads: 1,
    reason: expect.stringContaining('not cross-origin isolated'),
  });
  expectSameBits(outputs, expected);
});

for (const threads of [1, 2]) {
  test(`WASM on ${threads} of an isolated page`, async ({ page }) => {
    const { info, outputs } = await chainInPage(page, true, { backend: 'wasm', threads });
    expect(info).toMatchObject({ kind: 'wasm', threads });
    expectSameBits(outputs, expected);
  });
}

test.describe('WebGPU on the software adapter', () => {
  test('feeds outputs on, also after they were read', async ({ page }) => {
    const { info, outputs } = await chainInPage(page, true, { backend: 'webgpu', threads: 1 });
    expect(info).toEqual({ kind: 'webgpu', threads: 1, reason: expect.stringContaining('works') });
    expect(outputs).toHaveLength(expected.length);
    for (const [i, output] of outputs.entries()) {
      const reference = expected[i] as Tensor;
      expect(output.dims).toEqual(reference.dims);
      const values = float32View(output);
      float32View(reference).forEach((value, k) => {
        expect(Math.abs((values[k] ?? Number.NaN) - value)).toBeLessThan(1e-4);
      });
    }
  });

  // 45 elements: no multiple of the 4 bytes in which a GPU buffer is copied. int8 cannot stay on the GPU.
  for (const dataType of ['uint8', 'int8', 'int32', 'int64', 'bool'] satisfies DataType[]) {
    test(`carries ${dataType}`, async ({ page }) => {
      const code = dataTypeCodes[dataType];
      const models = [castModel(1, code, dims), castModel(code, 1, dims)];
      const { outputs } = await chainInPage(page, true, { backend: 'webgpu', threads: 1, models });
      expect(outputs[0]?.dataType).toBe(dataType);
      // Negative numbers as uint8 are whatever the hardware makes of them.
      if (dataType !== 'uint8') expectSameBits(outputs, await chainInNode(models));
      const clamped = float32View(input).map((value) => (dataType === 'uint8' ? Math.max(value, 0) : value));
      if (dataType !== 'bool') expect([...float32View(outputs[1] as Tensor)]).toEqual([...clamped]);
    });
  }
});

test('WASM where the page is not secure, and the reason', async ({ page }) => {
  const address = new URL(site.url(true));
  address.hostname = insecureHost;
  await page.goto(address.href);
  await page.waitForFunction(() => window.runChain !== undefined);
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  const request = { backend: 'webgpu', threads: 2, models: convolutions, input, runs: 1 } as const;
  const { info, outputs } = await page.evaluate((sent) => window.runChain(sent), request);
  expect(info).toMatchObject({ kind: 'wasm', threads: 1 });
  expect(info.reason).toMatch(/WebGPU needs https or localhost; one thread, .* not cross-origin isolated/);
  expectSameBits(outputs, expected);
});
