/** A person's own model where something comes between: it is called off, is none, is huge, or was there before. */
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { relativeDifference } from '../support/relativeDifference.ts';
import { runOnce } from '../support/runOnce.ts';
import { hasShared, sharedFolder } from '../support/shared.ts';
import { largeModel, largeWidth } from './support/largeModel.ts';
import { frozenMs, longestTask } from './support/longestTask.ts';
import {
  dropFile,
  expectLoaded,
  modelInput,
  runModel,
  runWithNpy,
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
import { countSentBytes, sentBytes } from './support/sentBytes.ts';

const deit = `${sharedFolder}models/deit-tiny-random-weights.onnx`;

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

test('compiling is called off in the middle: its Worker ends, and the model can be dropped again', async ({
  context,
}) => {
  test.skip(!hasShared, `There is no ${sharedFolder}models.`);
  const page = await openTab(context, site, 'cancel');
  const before = page.workers().length;
  await dropFile(page, deit);
  await cancelAt(page, 'Working out shapes');
  await startCompiling(page, { axis: 'channels' });
  await expectCancelled(page, 60_000);
  await expect.poll(() => page.workers().length).toBe(before);
  const [run] = await runInPage(page, [2]);
  if (run !== undefined) await expectRight(site, 2, run);

  await dropFile(page, deit);
  await startCompiling(page, { axis: 'rows' });
  await expectLoaded(page);
  await runModel(page);
  await expect(page.locator('.output-view')).toHaveAttribute('data-view', 'top');
});

test('sending is called off in the middle, and the model can be dropped again', async ({ browser }) => {
  test.skip(!hasShared, `There is no ${sharedFolder}models.`);
  const { a, close } = await twoDevices(browser, 'cancel-sending');
  await dropFile(a, deit);
  // All weights go to both devices, so that sending takes a while.
  await cancelAt(a, /take their parts, ([1-9]|[1-8]\d) %/);
  await startCompiling(a, { axis: 'rows' });
  await expectCancelled(a, 90_000);
  await expectShards(a, ['0', '1'], 30_000);
  const [run] = await runInPage(a, [3]);
  expect(run).toMatchObject({ devices: 2 });
  if (run !== undefined) await expectRight(site, 3, run);

  await dropFile(a, deit);
  await startCompiling(a, { axis: 'rows' });
  await expectLoaded(a);
  await runModel(a);
  await expect(a.locator('#model .line')).toContainText('on 2 devices');
  await close();
});

test('a model that the devices have had is not sent again, after a second drop nor a reload', async ({
  browser,
}) => {
  test.skip(!hasShared, `There is no ${sharedFolder}models.`);
  const { a, b, close } = await twoDevices(browser, 'again');
  const load = async () => {
    const before = await sentBytes(a);
    await dropFile(a, deit);
    await startCompiling(a, { axis: 'channels' });
    await expectLoaded(a);
    return (await sentBytes(a)) - before;
  };
  const run = async () => {
    const before = await sentBytes(a);
    await runModel(a);
    await expect(a.locator('#model .line')).toContainText('on 2 devices');
    return (await sentBytes(a)) - before;
  };
  // Half of the weights: 11 MB.
  expect(await load()).toBeGreaterThan(8e6);
  await a.getByRole('button', { name: 'Back to pictures' }).click();
  await expectShards(a, ['0', '1']);
  expect(await load()).toBeLessThan(1e6);
  const exchanged = await run();

  // The receiver comes back, and takes its part out of its cache before the next run.
  await b.reload();
  await expectShards(a, ['0', '1'], 30_000);
  expect(await run()).toBeLessThan(exchanged + 1e6);

  // And so does the one that brought the model.
  await a.reload();
  await a.waitForFunction(() => globalThis.starling !== undefined);
  await expectShards(a, ['0', '1'], 30_000);
  expect(await load()).toBeLessThan(1e6);
  expect(await run()).toBeGreaterThan(1e6);
  await close();
});

test('text is one clear sentence, whatever its name, and the page goes on', async ({ context }) => {
  const page = await openTab(context, site, 'text');
  for (const [name, code, sentence] of [
    ['notes.onnx', 'MODEL_UNREADABLE', 'it is text'],
    ['notes.txt', 'IMAGE_UNREADABLE', 'neither a picture nor a model'],
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
  browser,
}) => {
  const page = await openTab(context, site, 'large');
  const path = join(folder, 'zeros.onnx');
  const file = await open(path, 'w');
  await file.truncate(300_000_000);
  await file.close();
  const message = page.locator('.message');
  const taskMs = await longestTask(browser, page, async () => {
    await dropFile(page, path);
    await expect(message).toHaveAttribute('data-code', 'MODEL_UNREADABLE', { timeout: 60_000 });
  });
  await expect(message).toContainText('not a readable ONNX model');
  console.log(`Longest task of a page during 300 MB of zeros: ${taskMs.toFixed(0)} ms.`);
  expect(taskMs).toBeLessThan(frozenMs);
  const [run] = await runInPage(page, [4]);
  if (run !== undefined) await expectRight(site, 4, run);
});

test('a model of 302 MB is compiled and run by two devices and by one, and the pages answer all the while', async ({
  browser,
}) => {
  test.setTimeout(420_000);
  const model = largeModel();
  const path = join(folder, 'large.onnx');
  await writeFile(path, model);
  const { a, b, close } = await twoDevices(browser, 'large-model');
  const start = performance.now();
  const taskMs = await longestTask(browser, a, async () => {
    await dropFile(a, path);
    await startCompiling(a, { axis: 'channels' });
    await expectLoaded(a, 300_000);
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(
    `302 MB are on two devices after ${seconds} s; longest task of a page: ${taskMs.toFixed(0)} ms.`,
  );
  expect(taskMs).toBeLessThan(frozenMs);
  await expectShards(a, ['0', '1']);
  const given = modelInput([1, largeWidth]);
  const backend = await createHeapBackend({ threads: 1 });
  const alone = await runOnce(backend, model, new Map([['vector', given]]));
  const expectAnswer = async (devices: string) => {
    const result = await runWithNpy(a, given);
    await expect(a.locator('#model .line')).toContainText(devices);
    expect(relativeDifference(new Map([['result', result]]), alone)).toBeLessThan(1e-3);
  };
  await expectAnswer('on 2 devices');
  // Half of the weights have gone to the other device, and no more.
  const sent = await sentBytes(a);
  expect(sent).toBeGreaterThan(model.byteLength / 2);
  expect(sent).toBeLessThan(model.byteLength * 0.6);

  // And one device holds it whole.
  await b.close();
  await expectShards(a, ['0,1'], 30_000);
  await expectAnswer('on 1 device');
  await close();
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

/** Two tabs that share no cache, as two devices do not. */
async function twoDevices(browser: { newContext(): Promise<BrowserContext> }, room: string) {
  const contexts = [await browser.newContext(), await browser.newContext()] as const;
  for (const context of contexts) await countSentBytes(context);
  const [a, b] = [await openTab(contexts[0], site, room), await openTab(contexts[1], site, room)];
  await expectShards(a, ['0', '1']);
  return { a, b, close: () => Promise.all(contexts.map((context) => context.close())) };
}

/** Presses Cancel in the page as soon as it says this: from outside it would come too late. */
async function cancelAt(page: Page, sentence: string | RegExp): Promise<void> {
  const source = typeof sentence === 'string' ? sentence : sentence.source;
  await page.evaluate((wanted) => {
    const panel = document.getElementById('model');
    const observer = new MutationObserver(() => {
      if (!new RegExp(wanted).test(panel?.querySelector('.line')?.textContent ?? '')) return;
      observer.disconnect();
      document.getElementById('cancel-model')?.click();
      document.body.dataset['cancelled'] = 'true';
    });
    if (panel !== null) observer.observe(panel, { subtree: true, childList: true, characterData: true });
  }, source);
}

async function expectCancelled(page: Page, timeout: number): Promise<void> {
  await expect(page.locator('body')).toHaveAttribute('data-cancelled', 'true', { timeout });
  await expect(page.locator('#workspace')).toBeVisible();
  await expect(page.locator('#model')).toBeHidden();
  await expect(page.locator('.message')).toHaveCount(0);
}
