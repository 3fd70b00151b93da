/** One network over the tabs of a room, in a real browser: who holds what, the same answers, and devices that come and go. */
import { expect, type Page, test } from '@playwright/test';
import type { StarlingSessionElement } from '../../web/element.ts';
import {
  expectRight,
  expectShards,
  openTab,
  type RoomSite,
  runInPage,
  startRoomSite,
} from './support/roomSite.ts';
import { scale, side, testPicture } from './support/tinyUpscaler.ts';

let site: RoomSite;
test.beforeAll(async () => {
  site = await startRoomSite(4);
});
test.afterAll(() => site.close());

test('one tab holds every shard and gives the answer of the undivided model', async ({ context }) => {
  const page = await openTab(context, site, 'one');
  await expectShards(page, ['0,1,2,3']);
  const [run] = await runInPage(page, [1]);
  expect(run).toMatchObject({ devices: 1, rounds: 0, restarts: 0 });
  if (run !== undefined) await expectRight(site, 1, run);
});

test('two tabs hold two shards each and give the same answer, from whichever tab it is asked', async ({
  context,
}) => {
  const a = await openTab(context, site, 'two');
  const b = await openTab(context, site, 'two');
  for (const page of [a, b]) await expectShards(page, ['0,1', '2,3']);
  const paths = () =>
    a.evaluate(async () => (await globalThis.starling.room).devices.map(({ path }) => path).toSorted());
  await expect.poll(paths).toEqual(['direct', null]);
  for (const page of [a, b, a]) {
    const [run] = await runInPage(page, [2]);
    expect(run).toMatchObject({ devices: 2, restarts: 0 });
    expect(run?.rounds).toBeGreaterThan(0);
    if (run !== undefined) await expectRight(site, 2, run);
  }
});

test('three tabs share four shards', async ({ context }) => {
  const pages = [];
  for (let i = 0; i < 3; i++) pages.push(await openTab(context, site, 'three'));
  for (const page of pages) await expectShards(page, ['0,1', '2', '3']);
  const [first] = pages;
  const [run] = await runInPage(first as Page, [3]);
  expect(run).toMatchObject({ devices: 3, restarts: 0 });
  if (run !== undefined) await expectRight(site, 3, run);
});

test('a tab that joins later takes its share at the next run', async ({ context }) => {
  const a = await openTab(context, site, 'later');
  const [alone] = await runInPage(a, [4]);
  expect(alone?.devices).toBe(1);
  await openTab(context, site, 'later');
  await expectShards(a, ['0,1', '2,3']);
  const [together] = await runInPage(a, [4]);
  expect(together?.devices).toBe(2);
  if (together !== undefined) await expectRight(site, 4, together);
});

test('a tab that is closed in the middle of a run costs time, not the run', async ({ context }) => {
  const a = await openTab(context, site, 'leaves');
  const b = await openTab(context, site, 'leaves');
  await expectShards(a, ['0,1', '2,3']);
  const [before] = await runInPage(a, [10]);
  expect(before).toMatchObject({ devices: 2, restarts: 0 });
  // Its Worker is busy with something else, so that the next run cannot end before the tab is closed.
  const [worker] = b.workers();
  const blocked = worker?.evaluate(() => {
    for (const end = Date.now() + 30_000; Date.now() < end; );
  });
  blocked?.catch(() => undefined);
  const started = a.evaluate(async () => {
    const room = await globalThis.starling.room;
    await new Promise<void>((resolve) => {
      const off = room.on('run', ({ phase }) => {
        if (phase !== 'started') return;
        off();
        resolve();
      });
    });
  });
  const seeds = [11, 12, 13];
  const running = runInPage(a, seeds);
  await started;
  await b.close();
  const runs = await running;
  for (const [i, run] of runs.entries()) await expectRight(site, seeds[i] ?? 0, run);
  expect(runs.map(({ devices, restarts }) => [devices, restarts])).toEqual([
    [1, 1],
    [1, 0],
    [1, 0],
  ]);
  await expectShards(a, ['0,1,2,3']);
});

test('a run that is called off rejects at once, and the next one is right', async ({ context }) => {
  const page = await openTab(context, site, 'abort');
  const data = Array.from(testPicture(1));
  const code = await page.evaluate(
    async ({ data, dims }) => {
      const session = await globalThis.starling.session;
      const calling = new AbortController();
      const run = session.run({ picture: { data, dims } }, { signal: calling.signal });
      // Not by a timer: the run may be quicker.
      calling.abort();
      return run.then(
        () => 'an answer',
        (error: { code: string }) => error.code,
      );
    },
    { data, dims: [1, 3, side, side] },
  );
  expect(code).toBe('RUN_ABORTED');
  const [run] = await runInPage(page, [5]);
  if (run !== undefined) await expectRight(site, 5, run);
});

test('a picture is made larger on the page, compared and saved', async ({ context }) => {
  const page = await openTab(context, site, 'picture');
  await page.getByRole('button', { name: 'Try a small sample' }).click();
  await expect(page.locator('[data-figure="size"] dd')).toHaveText('704 × 480', { timeout: 60_000 });
  await expect(page.locator('[data-figure="devices"] dd')).toHaveText('1');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save the result' }).click();
  expect((await download).suggestedFilename()).toBe('starlings-large.png');
  const [width, height] = await page.locator('canvas.result').evaluate((canvas) => {
    const { width, height } = canvas as HTMLCanvasElement;
    return [width, height];
  });
  expect([width, height]).toEqual([176 * scale, 120 * scale]);
});

test('the room is compared with one device on the same picture, and is whole again after that', async ({
  context,
}) => {
  const a = await openTab(context, site, 'compare');
  await openTab(context, site, 'compare');
  await expectShards(a, ['0,1', '2,3']);
  const compare = a.getByRole('button', { name: 'Compare with one device' });
  await expect(compare).toBeHidden();
  await a.getByRole('button', { name: 'Try a small sample' }).click();
  await expect(a.locator('[data-figure="devices"] dd')).toHaveText('2', { timeout: 60_000 });
  await compare.click();
  const sentence = /^One device [\d.]+ m?s, 2 devices [\d.]+ m?s: (the room|no difference).*\.$/;
  await expect(a.locator('#comparison')).toHaveText(sentence, { timeout: 60_000 });
  await expectShards(a, ['0,1', '2,3']);
  const [run] = await runInPage(a, [9]);
  expect(run?.devices).toBe(2);
  if (run !== undefined) await expectRight(site, 9, run);
  await expect(a.locator('.message')).toHaveCount(0);
});

test('without isolation the page computes on one thread, says so, and is right', async ({ context }) => {
  const page = await openTab(context, { url: site.plainUrl }, 'plain');
  expect(await page.evaluate(() => globalThis.crossOriginIsolated)).toBe(false);
  await expect(page.locator('#notices')).toContainText('not cross-origin isolated');
  const [run] = await runInPage(page, [7]);
  if (run !== undefined) await expectRight(site, 7, run);
});

test('the element works in a plain HTML page, together with a tab of the demo', async ({ context }) => {
  const demo = await openTab(context, site, 'element');
  const page = await context.newPage();
  await page.goto(`${site.url}/library/element.html`);
  const result = await page.evaluate(
    async ({ data, dims }) => {
      await customElements.whenDefined('starling-session');
      const element = document.createElement('starling-session') as StarlingSessionElement;
      for (const [name, value] of [
        ['plan', '/plan/plan.json'],
        ['room', 'element'],
        ['signaling', '/'],
        ['devices', 'all'],
      ] as const) {
        element.setAttribute(name, value);
      }
      const seen: string[] = [];
      element.addEventListener('starling-status', (event) => {
        seen.push((event as CustomEvent<{ state: string }>).detail.state);
      });
      let reported = 0;
      element.addEventListener('starling-result', (event) => {
        reported = (event as CustomEvent<{ report: { devices: number } }>).detail.report.devices;
      });
      document.body.append(element);
      await element.session;
      while (element.devices.filter(({ state }) => state === 'ready').length < 2) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const outputs = await element.run({ picture: { data, dims } });
      const large = outputs['large'];
      const bytes = new Uint8Array(large?.data.buffer ?? new ArrayBuffer(0));
      return {
        output: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')),
        dims: large?.dims ?? [],
        reported,
        states: [...new Set(seen)],
        status: element.shadowRoot?.querySelector('[part=status]')?.textContent,
      };
    },
    { data: Array.from(testPicture(8)), dims: [1, 3, side, side] },
  );
  await expectRight(site, 8, { ...result, devices: 2, restarts: 0, rounds: 0 });
  expect(result).toMatchObject({ reported: 2, status: 'Ready on 2 devices.' });
  expect(result.states).toEqual(['joining', 'loading', 'ready']);
  // When the element leaves its document, its device leaves the room.
  await page.evaluate(() => document.querySelector('starling-session')?.remove());
  await expectShards(demo, ['0,1,2,3']);
});
