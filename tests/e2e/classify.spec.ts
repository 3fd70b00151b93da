/** The page's second network, from its committed plans: two tabs say what real test pictures show, as the network does in one piece. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { openPlanFolder, readWeights } from '../../cli/planFolder.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import { decodeImage } from '../../eval/rgbImage.ts';
import { float32View } from '../../graph/tensor.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { stageModel, weightsPath, wholeStage } from '../../runtime/stageModel.ts';
import { buildBlob } from '../../runtime/weights/blob.ts';
import { likeliest } from '../../web/classify.ts';
import type { StarlingSessionElement } from '../../web/element.ts';
import { type RoomSite, startRoomSite } from './support/roomSite.ts';

const folder = fileURLToPath(new URL('../../public/models/cifar10/', import.meta.url));
const catalogue = JSON.parse(readFileSync(join(folder, 'catalogue.json'), 'utf8')) as {
  readonly plans: readonly { readonly exchange: string; readonly shards: number; readonly path: string }[];
  readonly pictures: readonly { readonly path: string; readonly class: string }[];
};
const exchanges = [...new Set(catalogue.plans.map((plan) => plan.exchange))];
let site: RoomSite;
test.beforeAll(async () => {
  site = await startRoomSite(2);
});
test.afterAll(() => site.close());

/** The likeliest classes by onnxruntime-web in one session: every shard of a plan in one place. */
async function inOnePiece(plan: string, picture: string) {
  const opened = await openPlanFolder(join(folder, plan));
  const { model, division, file } = opened;
  const weights = await readWeights(join(folder, plan), opened);
  const all = [Array.from({ length: file.numShards }, (_, shard) => shard)];
  const [program] = lower(model.graph, division, all).programs;
  if (program === undefined) throw new Error('The plan has no program for one device.');
  const backend = await createHeapBackend({ threads: 1 });
  const blob = buildBlob(program, model, weights);
  const session = await backend.createSession(
    stageModel(model, program, wholeStage(program), blob, file.maxBatch > 1),
    [{ path: weightsPath, data: blob.data }],
  );
  const { data } = decodeImage(await readFile(join(folder, picture)));
  const planes = Uint8Array.from(data, (_, i) => data[(i % 1024) * 3 + Math.floor(i / 1024)] ?? 0);
  const input = { dataType: 'uint8', dims: [1, 3, 32, 32], data: planes } as const;
  const outputs = await runWhole(session, backend, { [file.inputs[0]?.name ?? '']: input });
  await session.release();
  // A thinned plan's own name for it may differ from the model's.
  const [scores] = Object.values(outputs);
  if (scores === undefined) throw new Error('The plan gave no scores.');
  return likeliest(float32View(scores), file.classes ?? [], 5);
}

async function openSection(context: BrowserContext, room: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${site.url}/?${new URLSearchParams({ room, task: 'classify', threads: '1' })}`);
  await expect(page.locator('#classify')).toHaveAttribute('data-state', 'ready', { timeout: 60_000 });
  return page;
}

function answerOf(page: Page, exchange: string) {
  const card = page.locator(`.answer[data-exchange="${exchange}"]`);
  return {
    card,
    figure: (name: string) => card.locator(`[data-figure="${name}"] dd`),
    bars: async () =>
      card
        .locator('.bars li')
        .evaluateAll((rows) =>
          rows.map(
            (row) =>
              [
                row.getAttribute('data-class') ?? '',
                Number.parseFloat(row.querySelector('.bar-value')?.textContent ?? ''),
              ] as const,
          ),
        ),
  };
}

test('two tabs name test pictures, dense and sparse, as the network in one piece does', async ({
  context,
}) => {
  const a = await openSection(context, 'classify');
  await openSection(context, 'classify');
  await expect(a.locator('.device[data-state]')).toHaveCount(2);
  await a.getByLabel('Every device').check();
  const { pictures, plans } = catalogue;
  let right = 0;
  for (const [i, { path, class: truth }] of pictures.entries()) {
    // Every picture needs both plans loaded in turn: a few of the ten do.
    if (i % 3 !== 0) continue;
    await a.locator('.sample').nth(i).click();
    await expect(a.locator('.chosen-picture .hint')).toHaveText(`Truth: ${truth}`);
    await expect(a.locator('#classify')).toHaveAttribute('data-state', 'ready', { timeout: 30_000 });
    for (const exchange of exchanges) {
      const { card, figure, bars } = answerOf(a, exchange);
      await expect(card).toHaveAttribute('data-state', 'done');
      await expect(figure('devices')).toHaveText('2');
      await expect(figure('exchanged')).not.toHaveText('0 B');
      const taken = plans.find((plan) => plan.exchange === exchange && plan.shards >= 2);
      const expected = await inOnePiece(join(taken?.path ?? '', '..'), path);
      const shown = await bars();
      expect(shown.map(([name]) => name)[0]).toBe(expected[0]?.name);
      for (const { name, probability } of expected) {
        const value = shown.find((bar) => bar[0] === name)?.[1];
        // Classes of almost no probability may change places, and fall out of the list.
        if (probability > 0.001) expect(value).toBeCloseTo(100 * probability, 0);
      }
      if (expected[0]?.name === truth) right++;
    }
  }
  // Four pictures, of each plan: the network is right nine times in ten.
  expect(right).toBeGreaterThanOrEqual(3 * exchanges.length);
});

test("a picture of one's own is fitted, and the room compared with one device", async ({ context }) => {
  const a = await openSection(context, 'own picture');
  await openSection(context, 'own picture');
  await expect(a.locator('.device[data-state]')).toHaveCount(2);
  const ship = catalogue.pictures.find((picture) => picture.class === 'ship');
  await a.locator('#classify-file').setInputFiles(join(folder, ship?.path ?? ''));
  await expect(a.locator('.chosen-picture .hint')).toHaveText('Your picture');
  const [first = ''] = exchanges;
  const { card } = answerOf(a, first);
  await expect(card).toHaveAttribute('data-state', 'done', { timeout: 30_000 });
  await expect(card.locator('.accuracy')).toHaveText(
    /^Right on [\d.]+ % of [\d,]+ of CIFAR-10's test pictures\./,
  );
  await expect(a.locator('#classify')).toHaveAttribute('data-state', 'ready', { timeout: 30_000 });
  await a.getByRole('button', { name: 'Compare with one device' }).click();
  await expect(a.locator('#classify')).toHaveAttribute('data-state', 'ready', { timeout: 60_000 });
  for (const exchange of exchanges)
    await expect(answerOf(a, exchange).card.locator('.line')).toHaveText(
      /^One device [\d.]+ m?s, 2 devices [\d.]+ m?s: .*\.$/,
    );
});

test('the page goes from one network to the other and back', async ({ context }) => {
  const page = await context.newPage();
  await page.goto(`${site.url}/?plan=/plan/plan.json&threads=1&room=tasks`);
  const names = async () =>
    (await page.evaluate(async () => (await globalThis.starling.session).plan.name)) ?? '';
  expect(await names()).toBe('tiny-upscaler');
  await page.getByRole('button', { name: 'Say what it shows' }).click();
  await expect(page.locator('#classify')).toHaveAttribute('data-state', 'ready', { timeout: 60_000 });
  expect(await names()).toMatch(/^cifar10-/);
  expect(new URL(page.url()).searchParams.get('task')).toBe('classify');
  await page.getByRole('button', { name: 'Make a picture larger' }).click();
  await expect(page.locator('#workspace')).toBeVisible();
  await expect(page.locator('#classify')).toBeHidden();
  await expect.poll(names).toBe('tiny-upscaler');
});

test('the element and the library name a picture on a page of somebody else', async ({ page }) => {
  const [plan] = catalogue.plans;
  const cat = catalogue.pictures.find((picture) => picture.class === 'cat');
  await page.goto(`${site.url}/library/element.html`);
  const names = await page.evaluate(
    async ([planUrl, pictureUrl]) => {
      const element = document.createElement('starling-session') as StarlingSessionElement;
      for (const [name, value] of [
        ['plan', planUrl],
        ['room', 'element names'],
        ['signaling', '/'],
        ['devices', 'own'],
      ])
        element.setAttribute(name ?? '', value ?? '');
      document.body.append(element);
      const library = new URL('./index.js', location.href).href;
      const { classify } = (await import(library)) as typeof import('../../web/index.ts');
      const picture = await (await fetch(pictureUrl)).blob();
      const { top } = await classify(await element.session, picture, { top: 3 });
      return top.map(({ name }) => name);
    },
    [`/models/cifar10/${plan?.path}`, `/models/cifar10/${cat?.path}`] as const,
  );
  const expected = await inOnePiece(join(plan?.path ?? '', '..'), cat?.path ?? '');
  expect(names).toEqual(expected.slice(0, 3).map(({ name }) => name));
});
