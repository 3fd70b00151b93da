/** A person's own model whose weights lie in files beside it: dropped together, one after the other, or as a folder. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { loadModel } from '../../graph/load.ts';
import { saveModel } from '../../graph/save.ts';
import { relativeDifference } from '../support/relativeDifference.ts';
import { runOnce } from '../support/runOnce.ts';
import {
  dropFile,
  dropFolder,
  expectLoaded,
  modelInput,
  runWithNpy,
  startCompiling,
} from './support/modelPage.ts';
import { openTab, type RoomSite, startRoomSite } from './support/roomSite.ts';
import { side, tinyUpscaler } from './support/tinyUpscaler.ts';

let site: RoomSite;
let folder: string;
test.beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'starling-data-'));
  site = await startRoomSite(2);
});
test.afterAll(async () => {
  await site.close();
  await rm(folder, { recursive: true });
});

/** Writes a model with all weights in a file that it calls `location`; the paths of both. */
async function writeModel(name: string, location: string) {
  const { bytes, external } = saveModel(loadModel(tinyUpscaler()), {
    external: { path: location, threshold: 1 },
  });
  const model = join(folder, name, 'model.onnx');
  const data = join(folder, name, location);
  await mkdir(dirname(data), { recursive: true });
  await writeFile(model, bytes);
  await writeFile(data, external ?? new Uint8Array());
  return { model, data };
}

/** Compiles what the form is about, and compares its answer with the undivided model's. */
async function expectAnswer(page: Page): Promise<void> {
  await startCompiling(page, { axis: 'channels' });
  await expectLoaded(page);
  const given = modelInput([1, 3, side, side]);
  const output = await runWithNpy(page, given);
  const backend = await createHeapBackend({ threads: 1 });
  const alone = await runOnce(backend, tinyUpscaler(), new Map([['picture', given]]));
  expect(relativeDifference(new Map([['large', output]]), alone)).toBeLessThan(1e-3);
}

test('a model and its data file are dropped together', async ({ context }) => {
  const { model, data } = await writeModel('together', 'model.onnx.data');
  const page = await openTab(context, site, 'together');
  await dropFile(page, data, model);
  await expectAnswer(page);
});

test('a model dropped alone asks for its data file by name, until it has been given', async ({ context }) => {
  const { model, data } = await writeModel('alone', 'weights/first.bin');
  const page = await openTab(context, site, 'alone');
  const panel = page.locator('#model');
  await dropFile(page, model);
  await expect(panel).toHaveAttribute('data-state', 'lacking', { timeout: 30_000 });
  await expect(panel).toContainText('a file of their own, “weights/first.bin”');

  const other = join(folder, 'other.bin');
  await writeFile(other, 'something else');
  await page.locator('#model-data').setInputFiles(other);
  await expect(panel).toHaveAttribute('data-state', 'lacking', { timeout: 30_000 });
  await page.locator('#model-data').setInputFiles(data);
  await expectAnswer(page);
});

test('a data file dropped alone, or one that is too short, is one clear sentence', async ({ context }) => {
  const { model, data } = await writeModel('short', 'model.onnx.data');
  const page = await openTab(context, site, 'short');
  await dropFile(page, data);
  await expect(page.locator('.message')).toContainText('drop the .onnx file that they belong to');
  await writeFile(data, new Uint8Array(16));
  await dropFile(page, model, data);
  await expect(page.locator('.message')).toContainText('which has only 16', { timeout: 30_000 });
  await expect(page.locator('#workspace')).toBeVisible();
});

test('a folder is dropped with all that is in it', async ({ context }) => {
  const { model } = await writeModel('folder', 'parts/weights.bin');
  const page = await openTab(context, site, 'folder');
  await dropFolder(page, dirname(model));
  await expectAnswer(page);
});
