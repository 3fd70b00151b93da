/** A person's own model in a real browser: dropped on the page, compiled there, given to the room's devices, run by all. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { loadModel } from '../../graph/load.ts';
import { seededRandom } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import { withLivelyWeights } from '../support/livelyWeights.ts';
import { randomNormals } from '../support/random.ts';
import { relativeDifference } from '../support/relativeDifference.ts';
import { runOnce } from '../support/runOnce.ts';
import { hasShared, readSharedModel, sharedFolder } from '../support/shared.ts';
import { frozenMs, longestTask } from './support/longestTask.ts';
import {
  dropFile,
  expectLoaded,
  modelInput,
  runModel,
  runWithNpy,
  samplePng,
  startCompiling,
} from './support/modelPage.ts';
import {
  expectRight,
  expectShards,
  openTab,
  type RoomSite,
  runInPage,
  startRoomSite,
} from './support/roomSite.ts';

let site: RoomSite;
let folder: string;
test.beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'starling-models-'));
  site = await startRoomSite(2);
});
test.afterAll(async () => {
  await site.close();
  await rm(folder, { recursive: true });
});

const cases = [
  { file: 'yolox-nano-coco.onnx', input: 'images', dims: [1, 3, 416, 416], axis: 'rows' },
  { file: 'deit-tiny-random-weights.onnx', input: 'input', dims: [1, 3, 224, 224], axis: 'channels' },
] as const;

for (const { file, input, dims, axis } of cases) {
  test(`${file} is dropped, and two tabs give the answer of the undivided model`, async ({
    context,
    browser,
  }) => {
    test.skip(!hasShared, `There is no ${sharedFolder}models.`);
    // The head of one of the files is all zeros, so that any other numbers before it would give the same answer.
    const model = saveModel(withLivelyWeights(loadModel(readSharedModel(file)))).bytes;
    const path = join(folder, file);
    await writeFile(path, model);
    const a = await openTab(context, site, file);
    const b = await openTab(context, site, file);
    await expectShards(a, ['0', '1']);

    const taskMs = await longestTask(browser, a, async () => {
      await dropFile(a, path);
      await expect(a.locator('#model-shards')).toHaveValue('2', { timeout: 30_000 });
      await expect(a.locator('.signature')).toContainText(`${input} float32 ${dims.join(' × ')}`);
      await startCompiling(a, { axis });
      await expectLoaded(a);
    });
    console.log(`Longest task of a page while ${file} is loaded: ${taskMs.toFixed(0)} ms.`);
    expect(taskMs).toBeLessThan(frozenMs);
    for (const page of [a, b]) await expectShards(page, ['0', '1']);

    const given = modelInput(dims);
    const output = await runWithNpy(a, given);
    await expect(a.locator('#model .line')).toContainText('on 2 devices');
    const backend = await createHeapBackend({ threads: 1 });
    const alone = await runOnce(backend, model, new Map([[input, given]]));
    expect(relativeDifference(new Map([['output', output]]), alone)).toBeLessThan(1e-3);

    // Where the time of that run went, on both devices.
    const rows = a.locator('#timeline .gantt-row');
    await expect(rows).toHaveCount(2);
    for (const row of await rows.all()) await expect(row.locator('rect.compute').first()).toBeVisible();
    const times = a.locator('#timeline td[data-activity="compute"]');
    await expect(times).toHaveText([/^[1-9]/, /^[1-9]/]);

    // The other tab runs its own plan in between.
    const [other] = await runInPage(b, [8]);
    if (other !== undefined) await expectRight(site, 8, other);

    // A picture in its place, normalised on the page.
    await a.locator('#model-picture-0').setInputFiles(await samplePng(a));
    await expect(a.locator('.preview canvas')).toBeVisible();
    await a.locator('[data-control="normalisation"]').selectOption('imagenet');
    await runModel(a);
    await expect(a.locator('.message')).toHaveCount(0);

    await a.getByRole('button', { name: 'Back to pictures' }).click();
    await expectShards(a, ['0', '1']);
    const [run] = await runInPage(a, [1]);
    if (run !== undefined) await expectRight(site, 1, run);
  });
}

test('lengths that a model leaves open are asked for, and pixels go in and come out', async ({ context }) => {
  test.skip(!hasShared, `There is no ${sharedFolder}models.`);
  const page = await openTab(context, site, 'open');
  await dropFile(page, `${sharedFolder}models/esrgan-slim-x4.onnx`);
  await expect(page.locator('.field')).toHaveText(
    [
      /^Shards/,
      /^Divided by/,
      /^“input” travels as/,
      /^“SR_Conv” comes back as/,
      'Length of “input” along axis 0 (N)',
      'Length of “input” along axis 2 (H)',
      'Length of “input” along axis 3 (W)',
    ],
    { timeout: 30_000 },
  );
  await page.locator('[data-axis="2"]').fill('20');
  await page.locator('[data-axis="3"]').fill('32');
  await startCompiling(page, { axis: 'rows', pixelsIn: 'unit', pixelsOut: 'unit' });
  await expectLoaded(page);
  await expect(page.locator('.model-input .value')).toContainText('uint8 1 × 3 × 20 × 32');
  await page.locator('#model-picture-0').setInputFiles(await samplePng(page));
  await page.locator('[data-control="fit"]').selectOption('stretch');
  await expect(page.locator('.preview canvas')).toBeVisible();
  await runModel(page);
  await expect(page.locator('.model-output .value')).toContainText('uint8 1 × 3 × 80 × 128');
  const view = page.locator('.output-view');
  await expect(view).toHaveAttribute('data-view', 'image');
  const pixels = await view.locator('canvas').evaluate((canvas) => {
    const { width, height } = canvas as HTMLCanvasElement;
    const context = (canvas as HTMLCanvasElement).getContext('2d');
    const at = (x: number) => Array.from(context?.getImageData(x, height / 2, 1, 1).data ?? []);
    return { size: [width, height], left: at(30), right: at(115) };
  });
  expect(pixels.size).toEqual([128, 80]);
  // Flat parts of a picture stay what they are when it is enlarged.
  for (const [channel, value] of [204, 102, 51].entries()) {
    expect(Math.abs((pixels.left[channel] ?? 0) - value)).toBeLessThan(16);
    expect(Math.abs((pixels.right[channel] ?? 0) - 255)).toBeLessThan(16);
  }
});

test('lengths that a model cannot run with are asked again, with what was filled in', async ({ context }) => {
  const path = join(folder, 'kernel.onnx');
  await writeFile(path, wideKernel());
  const page = await openTab(context, site, 'again');
  await dropFile(page, path);
  await page.locator('[data-axis="2"]').fill('2');
  await page.locator('#model-shards').fill('3');
  await startCompiling(page, { axis: 'channels' });
  await expect(page.locator('.message')).toBeVisible({ timeout: 60_000 });
  await expect(page.locator('#model-shards')).toHaveValue('3');
  await expect(page.locator('#model-axis')).toHaveValue('channels');
  await expect(page.locator('[data-axis="2"]')).toHaveValue('2');
  await page.locator('[data-axis="2"]').fill('20');
  await page.getByRole('button', { name: 'Compile and load' }).click();
  await expectLoaded(page);
  await expect(page.locator('.message')).toHaveCount(0);
  await runModel(page);
  await expect(page.locator('.model-output .value')).toContainText('1 × 3 × 16 × 220');
});

/** One convolution of 5 x 5 without padding over a picture whose height and width are open. */
function wideKernel(): Uint8Array {
  const weight = randomNormals(seededRandom(5), [3, 3, 5, 5]);
  const conv = {
    name: 'conv',
    opType: 'Conv',
    domain: '',
    inputs: ['picture', 'weight'],
    outputs: ['narrow'],
  };
  return saveModel({
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: 'test',
    metadata: new Map(),
    graph: {
      name: 'wide-kernel',
      inputs: [{ name: 'picture', dataType: 'float32', shape: [1, 3, 'height', 'width'] }],
      outputs: [{ name: 'narrow', dataType: 'float32' }],
      nodes: [{ ...conv, attributes: new Map() }],
      initializers: new Map([['weight', weight]]),
      values: new Map(),
    },
  }).bytes;
}
