/**
 * The scaler in real Chromium, two tabs of one thread each: throughput within a latency objective for single runs, every
 * fixed setting of a grid, and all ways to choose; a steady stream and bursts; two input sizes; a narrow link and a long way.
 * Controls come first and last. Prints tables and writes JSON.
 *
 *   npm run bench:scaler -- [--models resnet20,esrgan-slim] [--parts main,sizes,link,way] [--megabits 60] [--seconds 4]
 *                           [--adapt 20] [--rounds 3] [--roundtrip 40] [--trace] [--json bench/results/scaler.json|-]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Browser, chromium } from '@playwright/test';
import { chromiumOptions } from '../scripts/browserOptions.ts';
import { hasShared } from '../tests/support/shared.ts';
import { quietRatio } from './controls.ts';
import { createDelayedRelay } from './delayedRelay.ts';
import { rounded } from './figures.ts';
import { inIsolation } from './inIsolation.ts';
import { watchOthers } from './machine.ts';
import { beginRecord } from './runRecord.ts';
import {
  findObjective,
  type MeasureOptions,
  measureAll,
  measureWay,
  type Subject,
  type WayResult,
} from './scaler/measure.ts';
import {
  adaptiveWays,
  alone,
  esrgan,
  esrganSmall,
  grid,
  loads,
  resnet20,
  resnet20Sparse,
  type ScalerModel,
} from './scaler/models.ts';
import { type Part, partTable } from './scaler/report.ts';
import { openScalerRoom, type ScalerRoom } from './scaler/room.ts';
import { type ScalerSite, serveScalerSite } from './scaler/site.ts';
import { createSlowLink } from './slowLink.ts';

interface Control {
  readonly oneTab: number;
  readonly twoTabs: number;
  readonly ratio: number;
  readonly quiet: boolean;
  readonly othersCores: number | null;
}

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'resnet20,esrgan-slim' },
    parts: { type: 'string', default: 'main,sizes,link,way' },
    megabits: { type: 'string', default: '60' },
    seconds: { type: 'string', default: '4' },
    adapt: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '3' },
    roundtrip: { type: 'string', default: '40' },
    trace: { type: 'boolean', default: false },
    json: { type: 'string', default: fileURLToPath(new URL('./results/scaler.json', import.meta.url)) },
  },
});
const tell = (what: string) => process.stderr.write(`${what}\n`);
const options: MeasureOptions = {
  seconds: Number(values.seconds),
  adaptSeconds: Number(values.adapt),
  rounds: Number(values.rounds),
  trace: values.trace,
  tell,
};
const parts = values.parts.split(',');
const models = [resnet20, esrgan].filter(({ id }) =>
  values.models.split(',').some((name) => id.startsWith(name)),
);
const loopback = '127.0.0.1';
const [steady, burst] = loads;

if (hasShared) await inIsolation(main);
else tell('Skipped: the models beside the repository are not on this machine.');

async function main(isolated: boolean): Promise<void> {
  if (steady === undefined || burst === undefined) return;
  const record = beginRecord();
  const site = await serveScalerSite(isolated ? '0.0.0.0' : loopback);
  const browser = await chromium.launch(chromiumOptions());
  const url = `http://${loopback}:${site.port}${site.pagePath}`;
  const before = await control(site, browser, url);
  const measured: Part[] = [];
  /** `after` is null until the end: what is there by then is kept if the run is ended before. */
  const write = (after: Control | null) => {
    const report = {
      ...record(browser),
      secondsPerWay: options.seconds,
      controls: { before, after, quiet: before.quiet && after?.quiet !== false },
      parts: measured,
    };
    const text = `${JSON.stringify(report, null, 1)}\n`;
    if (values.json !== '-') {
      mkdirSync(dirname(values.json), { recursive: true });
      writeFileSync(values.json, text);
    } else if (after !== null) console.log(text);
  };
  const add = (part: Part) => {
    measured.push(part);
    console.log(`\n${partTable(part)}`);
    write(null);
  };
  const inTwoTabs = async (model: ScalerModel, use: (subject: Subject) => Promise<void>) => {
    const given = await site.compile(model);
    const place = { browser, url };
    const room = await openScalerRoom([place, place], model.id);
    await use({ room, given, devicesPerInstance: null });
    await room.close();
  };
  if (parts.includes('main')) {
    for (const model of models) {
      tell(model.title);
      await inTwoTabs(model, async (subject) => {
        const objective = await findObjective(subject, options);
        const results = await measureAll(subject, { steady, burst }, objective.p95Ms, options);
        add({ part: 'main', title: model.title, objective, results });
      });
    }
  }
  if (parts.includes('sizes')) {
    for (const model of [esrganSmall, esrgan]) {
      tell(model.title);
      await inTwoTabs(model, async (subject) => {
        const objective = await findObjective(subject, options);
        const results: WayResult[] = [];
        for (const way of [alone, ...adaptiveWays.filter(({ policy }) => policy === 'joint')])
          results.push(...(await measureWay(subject, way, [steady], objective.p95Ms, options)));
        add({ part: 'sizes', title: model.title, objective, results });
      });
    }
  }
  if (parts.includes('link')) await measureLink(site, isolated, add);
  if (parts.includes('way')) await measureLongWay(site, browser, url, add);
  write(await control(site, browser, url));
  await browser.close();
  await site.close();
}

/** Whether two tabs find a core each: single runs in one tab, then in two rooms of one tab at once. */
async function control(site: ScalerSite, browser: Browser, url: string): Promise<Control> {
  const given = await site.compile(resnet20);
  const rooms: ScalerRoom[] = [];
  for (const name of ['left', 'right'])
    rooms.push(await openScalerRoom([{ browser, url }], `control ${name}`));
  const perSecond = async (room: ScalerRoom) => {
    const settings = { p95Ms: 1e6, maxBatch: 1, maxInstances: 1, policy: alone.policy };
    const load = { kind: 'steady', count: 2, ms: 3_000 } as const;
    const [served] = await room.measure(given, settings, [load], 0);
    return served === undefined ? 0 : served.items / served.seconds;
  };
  const others = watchOthers();
  const [first] = rooms;
  const oneTab = first === undefined ? 0 : await perSecond(first);
  const both = await Promise.all(rooms.map(perSecond));
  const twoTabs = both.reduce((sum, one) => sum + one, 0);
  const othersCores = others();
  for (const room of rooms) await room.close();
  const ratio = rounded(twoTabs / oneTab, 3);
  const result = {
    oneTab: rounded(oneTab),
    twoTabs: rounded(twoTabs),
    ratio,
    quiet: ratio >= quietRatio,
    othersCores: othersCores === null ? null : rounded(othersCores),
  };
  tell(`control: one tab ${result.oneTab} runs a second, two tabs ${result.twoTabs} (${ratio})`);
  return result;
}

/**
 * Every instance divided over both ends of a narrow link. What one instance sends, another cannot: the more of its time
 * a run sends, the less others gain.
 */
async function measureLink(site: ScalerSite, isolated: boolean, add: (part: Part) => void): Promise<void> {
  const megabits = Number(values.megabits);
  try {
    if (!isolated) throw new Error('network namespaces need Linux and root');
    const link = createSlowLink();
    const origin = `http://${link.host}:${site.port}`;
    const browsers = await link.launch(origin);
    const given = await site.compile(resnet20Sparse);
    const places = browsers.map((browser) => ({ browser, url: `${origin}${site.pagePath}` }));
    const room = await openScalerRoom(places, 'link');
    link.setSpeed(megabits);
    const measured = await measureDivided({ room, given, devicesPerInstance: 2 });
    add({
      part: 'link',
      title: `${resnet20Sparse.title}, divided over both ends of a link of ${megabits} Mbit/s`,
      ...measured,
    });
    for (const browser of browsers) await browser.close();
    link.close();
  } catch (thrown) {
    tell(`The slow link is skipped: ${thrown instanceof Error ? thrown.message : String(thrown)}.`);
  }
}

/**
 * Every instance divided over two tabs that are far from each other: while one waits for features that are on their way,
 * others compute and send. The way is long and not narrow, so that nothing but waiting is shared out.
 */
async function measureLongWay(
  site: ScalerSite,
  browser: Browser,
  url: string,
  add: (part: Part) => void,
): Promise<void> {
  const roundTripMs = Number(values.roundtrip);
  try {
    const relay = await createDelayedRelay(roundTripMs);
    try {
      const given = await site.compile(resnet20Sparse);
      const place = { browser, url };
      const room = await openScalerRoom([place, place], 'long way', relay.iceServers);
      const measured = await measureDivided({ room, given, devicesPerInstance: 2 });
      add({
        part: 'way',
        title: `${resnet20Sparse.title}, divided over two tabs ${roundTripMs} ms from each other and back`,
        ...measured,
      });
      await room.close();
    } finally {
      relay.close();
    }
  } catch (thrown) {
    tell(`The long way is skipped: ${thrown instanceof Error ? thrown.message : String(thrown)}.`);
  }
}

/** A few fixed settings, and what chooses between them. */
async function measureDivided(subject: Subject): Promise<Pick<Part, 'objective' | 'results'>> {
  const objective = await findObjective(subject, options);
  const results: WayResult[] = [];
  const fixed = grid.filter(({ name }) => ['(1, 1)', '(1, 2)', '(1, 4)', '(4, 1)', '(4, 4)'].includes(name));
  const load = { kind: 'steady', count: 64 } as const;
  // Its windows are as long as its runs, which wait more than they compute.
  const slowly = { ...options, seconds: 2 * options.seconds, adaptSeconds: 2 * options.adaptSeconds };
  for (const way of [...fixed, ...adaptiveWays.filter(({ policy }) => policy === 'joint')])
    results.push(...(await measureWay(subject, way, [load], objective.p95Ms, slowly)));
  return { objective, results };
}
