/** Many runs at once under a latency objective, over the instances of a room, in a real browser. */
import { expect, type Page, test } from '@playwright/test';
import {
  expectRight,
  expectShards,
  openTab,
  type PageRun,
  type RoomSite,
  startRoomSite,
} from './support/roomSite.ts';
import { side, testPicture } from './support/tinyUpscaler.ts';

let site: RoomSite;
test.beforeAll(async () => {
  site = await startRoomSite(4);
});
test.afterAll(() => site.close());

interface Wishes {
  readonly p95Ms: number;
  readonly maxBatch?: number;
  readonly maxInstances?: number;
  readonly devicesPerInstance?: number;
  readonly policy?: { readonly fixed: { readonly batch: number; readonly instances: number } };
}

/** Loads the plan of the room again, with an objective. */
async function loadScaled(page: Page, { p95Ms, ...wishes }: Wishes): Promise<void> {
  await page.evaluate(
    async ({ p95Ms, wishes }) => {
      const room = await globalThis.starling.room;
      const session = room.load('/plan/plan.json', { slo: { p95Ms }, ...wishes });
      globalThis.starling = { room: Promise.resolve(room), session };
      await session;
    },
    { p95Ms, wishes },
  );
}

type Answer = { readonly caller: string; readonly seed: number } & (
  | { readonly run: PageRun }
  | { readonly code: string }
);

/** So many runs from each caller at once, of these seeds in turn; in the order in which they settled. */
function runMany(
  page: Page,
  callers: readonly string[],
  count: number,
  seeds: readonly number[],
): Promise<Answer[]> {
  return page.evaluate(
    async ({ callers, count, seeds, pictures, dims }) => {
      const session = await globalThis.starling.session;
      const answers: Answer[] = [];
      const one = async (caller: string, i: number) => {
        const seed = seeds[i % seeds.length] ?? 0;
        let report = { devices: 0, restarts: 0, rounds: 0 };
        try {
          const outputs = await session.run(
            { picture: { data: pictures[i % seeds.length] ?? [], dims } },
            { caller, onReport: (told) => (report = told) },
          );
          const large = outputs['large'];
          const bytes = new Uint8Array(large?.data.buffer ?? new ArrayBuffer(0));
          const { devices, restarts, rounds } = report;
          const output = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
          answers.push({ caller, seed, run: { output, dims: large?.dims ?? [], devices, restarts, rounds } });
        } catch (thrown) {
          answers.push({ caller, seed, code: (thrown as { code: string }).code });
        }
      };
      await Promise.all(callers.flatMap((caller) => Array.from({ length: count }, (_, i) => one(caller, i))));
      return answers;
    },
    {
      callers,
      count,
      seeds,
      pictures: seeds.map((seed) => Array.from(testPicture(seed))),
      dims: [1, 3, side, side],
    },
  );
}

async function expectAllRight(answers: readonly Answer[]): Promise<void> {
  for (const answer of answers) {
    expect(answer).toHaveProperty('run');
    if ('run' in answer) await expectRight(site, answer.seed, answer.run);
  }
}

const stats = (page: Page) => page.evaluate(async () => (await globalThis.starling.session).scalerStats());

test('two tabs serve many runs with an instance each, every caller its own answers in order', async ({
  context,
}) => {
  const a = await openTab(context, site, 'scaled');
  await openTab(context, site, 'scaled');
  await expectShards(a, ['0,1', '2,3']);
  await loadScaled(a, { p95Ms: 10_000, policy: { fixed: { batch: 4, instances: 2 } } });
  await expect.poll(async () => (await stats(a))?.instances, { timeout: 30_000 }).toBe(2);
  const seen = await stats(a);
  expect(new Set(seen?.placements.flat()).size).toBe(2);
  expect(seen?.placements.map((devices) => devices.length)).toEqual([1, 1]);
  const answers = await runMany(a, ['left', 'right'], 12, [1, 2, 3]);
  expect(answers).toHaveLength(24);
  await expectAllRight(answers);
  for (const caller of ['left', 'right']) {
    const seeds = answers.filter((answer) => answer.caller === caller).map(({ seed }) => seed);
    expect(seeds).toEqual(Array.from({ length: 12 }, (_, i) => 1 + (i % 3)));
  }
});

test('a tab that leaves in the middle costs time, not a run', async ({ context }) => {
  const a = await openTab(context, site, 'scaled-leaves');
  const b = await openTab(context, site, 'scaled-leaves');
  await expectShards(a, ['0,1', '2,3']);
  // Divided over both tabs: every batch under way needs the one that leaves.
  await loadScaled(a, {
    p95Ms: 10_000,
    devicesPerInstance: 2,
    policy: { fixed: { batch: 2, instances: 2 } },
  });
  await expect
    .poll(async () => (await stats(a))?.placements.map((d) => d.length), { timeout: 30_000 })
    .toEqual([2, 2]);
  const [before] = await runMany(a, ['one'], 1, [1]);
  expect(before).toMatchObject({ run: { devices: 2, restarts: 0 } });
  const running = runMany(a, ['one', 'two'], 16, [1, 2, 3, 4]);
  await expect.poll(async () => (await stats(a))?.batchesInFlight, { timeout: 10_000 }).toBeGreaterThan(0);
  await b.close();
  const answers = await running;
  expect(answers).toHaveLength(32);
  await expectAllRight(answers);
  expect(answers.some((answer) => 'run' in answer && answer.run.devices === 1)).toBe(true);
  await expect
    .poll(async () => (await stats(a))?.placements.map((d) => d.length), { timeout: 30_000 })
    .toEqual([1, 1]);
});

test('two pages feed one room, each with a queue and instances of its own', async ({ context }) => {
  const pages = [await openTab(context, site, 'scaled-two'), await openTab(context, site, 'scaled-two')];
  for (const page of pages) await expectShards(page, ['0,1', '2,3']);
  const wishes = { p95Ms: 10_000, policy: { fixed: { batch: 2, instances: 2 } } };
  await Promise.all(pages.map((page) => loadScaled(page, wishes)));
  const answers = await Promise.all(pages.map((page) => runMany(page, ['camera'], 10, [1, 2, 3])));
  for (const own of answers) {
    expect(own).toHaveLength(10);
    await expectAllRight(own);
  }
  for (const page of pages) {
    await expect.poll(async () => (await stats(page))?.instances, { timeout: 30_000 }).toBe(2);
    expect(new Set((await stats(page))?.placements.flat()).size).toBe(2);
  }
});

test('a plan that no server has is held by instances on both devices', async ({ context }) => {
  const a = await openTab(context, site, 'scaled-held');
  await openTab(context, site, 'scaled-held');
  await expectShards(a, ['0,1', '2,3']);
  await a.evaluate(async () => {
    const fetchBytes = async (name: string) =>
      new Uint8Array(await (await fetch(`/plan/${name}`)).arrayBuffer());
    const plan = await fetchBytes('plan.json');
    const { graph, weights } = JSON.parse(new TextDecoder().decode(plan)) as {
      graph: { path: string };
      weights: { path: string }[];
    };
    const files = new Map([['plan.json', plan]]);
    for (const { path } of [graph, ...weights]) files.set(path, await fetchBytes(path));
    const room = await globalThis.starling.room;
    const session = room.load(
      { files },
      { slo: { p95Ms: 10_000 }, policy: { fixed: { batch: 2, instances: 2 } } },
    );
    globalThis.starling = { room: Promise.resolve(room), session };
    await session;
  });
  await expect
    .poll(async () => new Set((await stats(a))?.placements.flat()).size, { timeout: 30_000 })
    .toBe(2);
  await expectAllRight(await runMany(a, ['one'], 8, [1, 2]));
});

test('runs that are called off, late or too many have an error of their own', async ({ context }) => {
  const page = await openTab(context, site, 'scaled-errors');
  await loadScaled(page, { p95Ms: 10_000, maxBatch: 1, maxInstances: 1 });
  const codes = await page.evaluate(
    async ({ data, dims }) => {
      const session = await globalThis.starling.session;
      const run = (options: Parameters<typeof session.run>[1]) =>
        session.run({ picture: { data, dims } }, options).then(
          () => 'an answer',
          (error: { code: string; expectedWaitMs?: number | null }) =>
            error.expectedWaitMs === undefined ? error.code : `${error.code} with a wait`,
        );
      const controller = new AbortController();
      const filling = Array.from({ length: 300 }, () => run({}));
      const aborted = run({ caller: 'other', signal: controller.signal });
      controller.abort();
      const late = run({ caller: 'other', deadlineMs: 1 });
      return { few: await Promise.all([aborted, late]), all: (await Promise.all(filling)).sort() };
    },
    { data: Array.from(testPicture(1)), dims: [1, 3, side, side] },
  );
  expect(codes.few).toEqual(['RUN_ABORTED', 'RUN_TIMEOUT']);
  expect(codes.all).toHaveLength(300);
  expect(new Set(codes.all)).toEqual(new Set(['OVERLOADED with a wait', 'an answer']));
});

test('a stream of requests on the page shows what the scaler does, over time', async ({ context }) => {
  const page = await openTab(context, site, 'scaled-panel');
  const panel = page.locator('#requests');
  await panel.getByLabel('95 of 100 within (ms)').fill('2000');
  await panel.getByLabel('Requests at once').fill('8');
  await panel.getByRole('button', { name: 'Start' }).click();
  const figure = (name: string) => panel.locator(`[data-figure="${name}"] dd`);
  await expect(figure('p95')).toHaveText(/^[\d.]+ ms$/, { timeout: 30_000 });
  await expect(figure('throughput')).not.toHaveText('0.0');
  await expect(panel.locator('#scaler-decision')).not.toBeEmpty();
  await expect(panel.locator('.chart canvas')).toHaveCount(3);
  await panel.getByRole('button', { name: 'Stop' }).click();
  await expect.poll(async () => (await stats(page))?.batchesInFlight).toBe(0);
  await expect(page.locator('#messages')).toBeEmpty();
});

test('a limit of memory bounds the instances of its device, and the panel says so', async ({ context }) => {
  // In MiB: the room's share and one instance fit, of at least 16 each, and no third heap.
  const a = await openTab(context, site, 'scaled-memory', { memory: '40' });
  await openTab(context, site, 'scaled-memory', { memory: '40' });
  await expectShards(a, ['0,1', '2,3']);
  await loadScaled(a, { p95Ms: 10_000, policy: { fixed: { batch: 1, instances: 4 } } });
  // Errors leave a page without their codes.
  const refusalOf = (page: Page) =>
    page.evaluate(async () => (await globalThis.starling.session).scalerStats()?.refusal?.toJSON());
  await expect.poll(async () => (await refusalOf(a))?.code, { timeout: 60_000 }).toBe('MEMORY_LIMIT');
  const { instances, placements } = (await stats(a)) ?? {};
  const refusal = await refusalOf(a);
  expect(instances).toBeLessThanOrEqual(2);
  expect(placements?.length).toBe(instances);
  expect(refusal?.message).toMatch(
    /One more instance needs about \d+ MiB on this device, .* its limit is 40 MiB/,
  );
  await expectAllRight(await runMany(a, ['one'], 6, [1, 2]));
});
