/** A person's own model in a real browser: dropped on the page, compiled there, given to the room's devices, run by all. */
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { loadModel } from '../../graph/load.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import { readNpy, writeNpy } from '../../protocol/npy.ts';
import { withLivelyWeights } from '../support/livelyWeights.ts';
import { runOnce } from '../support/runOnce.ts';
import { hasShared, readSharedModel, sharedFolder } from '../support/shared.ts';
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
  { file: 'yolox-nano-coco.onnx', input: 'images', dims: [1, 3, 416, 416], output: 'output' },
  { file: 'deit-tiny-random-weights.onnx', input: 'input', dims: [1, 3, 224, 224], output: 'output' },
] as const;

for (const { file, input, dims, output } of cases) {
  test(`${file} is dropped, and two tabs give the answer of the undivided model`, async ({ context }) => {
    test.skip(!hasShared, `There is no ${sharedFolder}models.`);
    // The head of one of the files is all zeros, so that any other numbers before it would give the same answer.
    const model = saveModel(withLivelyWeights(loadModel(readSharedModel(file)))).bytes;
    const path = join(folder, file);
    await writeFile(path, model);
    const a = await openTab(context, site, file);
    const b = await openTab(context, site, file);
    await expectShards(a, ['0', '1']);

    const longestPause = await watchPauses(a);
    await dropFile(a, path);
    await expect(a.locator('#model-shards')).toHaveValue('2', { timeout: 30_000 });
    await expect(a.locator('.signature')).toContainText(`${input} float32 ${dims.join(' × ')}`);
    await a.getByRole('button', { name: 'Compile and load' }).click();
    await expect(a.locator('#model')).toHaveAttribute('data-state', 'ready', { timeout: 60_000 });
    expect(await longestPause()).toBeLessThan(1_000);
    for (const page of [a, b]) await expectShards(page, ['0', '1']);

    const values = Float32Array.from(
      { length: dims.reduce((product: number, dim) => product * dim, 1) },
      (_, i) => 0.5 + 0.4 * Math.sin(i * 0.011) + 0.1 * Math.sin(i * 1.3),
    );
    const npy = writeNpy({ dataType: 'float32', dims, data: new Uint8Array(values.buffer) });
    const buffer = Buffer.from(npy);
    await a
      .locator('#model-npy-0')
      .setInputFiles({ name: 'in.npy', mimeType: 'application/octet-stream', buffer });
    await expect(a.locator('.chosen')).toContainText('in.npy');
    await a.getByRole('button', { name: 'Run', exact: true }).click();
    await expect(a.locator('#model')).toHaveAttribute('data-runs', '1', { timeout: 30_000 });
    await expect(a.locator('#model .line')).toContainText('on 2 devices');
    const download = a.waitForEvent('download');
    await a.getByRole('button', { name: 'Save as .npy' }).click();
    const saved = readNpy(new Uint8Array(await readFile(await (await download).path())));

    const backend = await createHeapBackend({ threads: 1 });
    const alone = await runOnce(backend, model, new Map([[input, float32Tensor(dims, values)]]));
    const expected = alone.get(output);
    if (expected === undefined) throw new Error('The model gave no output.');
    expect(saved.dims).toEqual(expected.dims);
    const { largest, difference } = compare(
      new Float32Array(saved.data.slice().buffer),
      float32View(expected),
    );
    expect(largest).toBeGreaterThan(0.1);
    expect(difference).toBeLessThan(1e-3 * Math.max(1, largest));

    // The other tab runs its own plan in between.
    const [other] = await runInPage(b, [8]);
    if (other !== undefined) await expectRight(site, 8, other);

    // A picture in its place, normalised on the page.
    await a.locator('#model-picture-0').setInputFiles(await samplePng(a));
    await expect(a.locator('.preview canvas')).toBeVisible();
    await a.locator('[data-control="normalisation"]').selectOption('imagenet');
    await a.getByRole('button', { name: 'Run', exact: true }).click();
    await expect(a.locator('#model')).toHaveAttribute('data-runs', '2', { timeout: 30_000 });
    await expect(a.locator('.message')).toHaveCount(0);

    await a.getByRole('button', { name: 'Back to pictures' }).click();
    await expectShards(a, ['0', '1']);
    const [run] = await runInPage(a, [1]);
    if (run !== undefined) await expectRight(site, 1, run);
  });
}

test('lengths that a model leaves open are asked for, and its output is a picture', async ({ context }) => {
  test.skip(!hasShared, `There is no ${sharedFolder}models.`);
  const page = await openTab(context, site, 'open');
  await dropFile(page, `${sharedFolder}models/esrgan-slim-x4.onnx`);
  await expect(page.locator('.field')).toHaveText(
    [
      /^Shards/,
      /^Divided by/,
      'Input “input”, axis 1 (N)',
      'Input “input”, axis 3 (H)',
      'Input “input”, axis 4 (W)',
    ],
    { timeout: 30_000 },
  );
  await page.locator('[data-axis="2"]').fill('20');
  await page.locator('[data-axis="3"]').fill('32');
  await page.locator('#model-axis').selectOption('rows');
  await page.getByRole('button', { name: 'Compile and load' }).click();
  await expect(page.locator('#model')).toHaveAttribute('data-state', 'ready', { timeout: 60_000 });
  await page.locator('#model-picture-0').setInputFiles(await samplePng(page));
  await expect(page.locator('.preview canvas')).toBeVisible();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const view = page.locator('.output-view');
  await expect(view).toHaveAttribute('data-view', 'image', { timeout: 30_000 });
  const size = await view.locator('canvas').evaluate((canvas) => {
    const { width, height } = canvas as HTMLCanvasElement;
    return [width, height];
  });
  expect(size).toEqual([128, 80]);
});

test('compiling is called off in the middle: its Worker ends, and the page goes on', async ({ context }) => {
  test.skip(!hasShared, `There is no ${sharedFolder}models.`);
  const page = await openTab(context, site, 'cancel');
  const before = page.workers().length;
  await dropFile(page, `${sharedFolder}models/deit-tiny-random-weights.onnx`);
  await page.getByRole('button', { name: 'Compile and load' }).click({ timeout: 30_000 });
  await expect(page.locator('#model .line')).toContainText('Working out shapes', { timeout: 30_000 });
  expect(page.workers()).toHaveLength(before + 1);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.locator('#workspace')).toBeVisible();
  await expect(page.locator('#model')).toBeHidden();
  await expect.poll(() => page.workers().length).toBe(before);
  await expect(page.locator('.message')).toHaveCount(0);
  const [run] = await runInPage(page, [2]);
  if (run !== undefined) await expectRight(site, 2, run);
});

test('text is one clear sentence, whatever its name, and the page goes on', async ({ context }) => {
  const page = await openTab(context, site, 'text');
  for (const [name, code, sentence] of [
    ['notes.onnx', 'MODEL_UNREADABLE', 'it is text'],
    ['notes.txt', 'IMAGE_UNREADABLE', 'cannot read the file as a picture'],
  ] as const) {
    const path = join(folder, name);
    await writeFile(path, 'These are notes about a model.\nThey are not one.\n');
    await dropFile(page, path);
    await expect(page.locator('.message')).toHaveAttribute('data-code', code);
    await expect(page.locator('.message')).toContainText(sentence);
    await expect(page.locator('#workspace')).toBeVisible();
  }
  const [run] = await runInPage(page, [3]);
  if (run !== undefined) await expectRight(site, 3, run);
});

test('300 MB that are no model are one clear sentence, and the page answers all the while', async ({
  context,
}) => {
  const page = await openTab(context, site, 'large');
  const path = join(folder, 'zeros.onnx');
  const file = await open(path, 'w');
  await file.truncate(300_000_000);
  await file.close();
  const longestPause = await watchPauses(page);
  await dropFile(page, path);
  await expect(page.locator('.message')).toHaveAttribute('data-code', 'MODEL_UNREADABLE', {
    timeout: 60_000,
  });
  await expect(page.locator('.message')).toContainText('not a readable ONNX model');
  expect(await longestPause()).toBeLessThan(1_000);
  const [run] = await runInPage(page, [4]);
  if (run !== undefined) await expectRight(site, 4, run);
});

test('a plan that a page brought outlives it where another device has taken all of it', async ({
  context,
}) => {
  const [a, b] = [await openTab(context, site, 'outlives'), await openTab(context, site, 'outlives')];
  await expectShards(a, ['0', '1']);
  const sha256 = await a.evaluate(async () => {
    const room = await globalThis.starling.room;
    const read = async (name: string) =>
      [name, new Uint8Array(await (await fetch(`/plan/${name}`)).arrayBuffer())] as const;
    const plan = await (await fetch('/plan/plan.json')).json();
    const names: string[] = [plan.graph.path, ...plan.weights.map(({ path }: { path: string }) => path)];
    const files = new Map(await Promise.all(['plan.json', ...names].map(read)));
    const session = room.load({ files });
    globalThis.starling = { room: Promise.resolve(room), session };
    return (await session).plan.sha256;
  });
  const [first] = await runInPage(a, [5]);
  expect(first).toMatchObject({ devices: 2 });
  await b.evaluate(async (hash) => {
    const room = await globalThis.starling.room;
    const session = room.load({ sha256: hash });
    globalThis.starling = { room: Promise.resolve(room), session };
    await session;
  }, sha256);
  const [together] = await runInPage(b, [6]);
  expect(together).toMatchObject({ devices: 2 });
  if (together !== undefined) await expectRight(site, 6, together);
  await a.close();
  const [alone] = await runInPage(b, [7]);
  expect(alone).toMatchObject({ devices: 1 });
  if (alone !== undefined) await expectRight(site, 7, alone);

  const missing = await b.evaluate(async () => {
    const room = await globalThis.starling.room;
    return room.load({ sha256: '0'.repeat(64) }).then(
      () => 'a session',
      (error: { code: string }) => error.code,
    );
  });
  expect(missing).toBe('PLAN_NOT_FOUND');
});

/** As a person drops it: the page gets a File that it has not read. */
async function dropFile(page: Page, path: string): Promise<void> {
  await page.evaluate(() => {
    document.querySelector('#dropped')?.remove();
    const input = document.createElement('input');
    Object.assign(input, { type: 'file', id: 'dropped', hidden: true });
    document.body.append(input);
  });
  await page.locator('#dropped').setInputFiles(path);
  await page.evaluate(() => {
    const file = document.querySelector<HTMLInputElement>('#dropped')?.files?.[0];
    const dataTransfer = new DataTransfer();
    if (file !== undefined) dataTransfer.items.add(file);
    document.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  });
}

/** Watches how long the page does not answer; what it gives reads the longest pause so far, in milliseconds. */
async function watchPauses(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    let last = performance.now();
    Object.assign(globalThis, { longestPauseMs: 0 });
    const seen = globalThis as unknown as { longestPauseMs: number };
    setInterval(() => {
      const now = performance.now();
      seen.longestPauseMs = Math.max(seen.longestPauseMs, now - last);
      last = now;
    }, 20);
  });
  return () => page.evaluate(() => (globalThis as unknown as { longestPauseMs: number }).longestPauseMs);
}

async function samplePng(page: Page): Promise<{ name: string; mimeType: string; buffer: Buffer }> {
  const base64 = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(60, 40);
    const context = canvas.getContext('2d');
    if (context !== null) {
      context.fillStyle = '#c63';
      context.fillRect(0, 0, 40, 40);
    }
    const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  });
  return { name: 'sample.png', mimeType: 'image/png', buffer: Buffer.from(base64, 'base64') };
}

function compare(got: Float32Array, expected: Float32Array): { largest: number; difference: number } {
  let [largest, difference] = [0, got.length === expected.length ? 0 : Number.POSITIVE_INFINITY];
  for (const [i, value] of expected.entries()) {
    largest = Math.max(largest, Math.abs(value));
    const one = Math.abs(value - (got[i] ?? Number.NaN));
    difference = Number.isNaN(one) ? Number.POSITIVE_INFINITY : Math.max(difference, one);
  }
  return { largest, difference };
}
