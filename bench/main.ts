/**
 * The benchmarks: one run on one machine, its controls first. Real Chromium tabs, one thread each. Prints a table and
 * writes JSON.
 *
 *   npm run bench -- [--models resnet50,esrgan-slim] [--divisions channels,rows,auto,sparse] [--links unshaped,50mbit]
 *                    [--kinds plain,one-tab,stages,two-tabs] [--runs 20] [--calm SECONDS] [--patience 3]
 *                    [--throughput SECONDS] [--json FILE|-]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Browser, chromium } from '@playwright/test';
import { chromiumOptions } from '../scripts/browserOptions.ts';
import { exchangeControl, twoTabsControl } from './controls.ts';
import type { Exchange } from './exchange.ts';
import { rounded } from './figures.ts';
import { inIsolation } from './inIsolation.ts';
import { isRealTime, waitForCalm } from './machine.ts';
import { measureModel, type ScenarioResult } from './measure.ts';
import { benchModels } from './models.ts';
import { breakdownTable, controlsText, exchangesTable, scenariosTable } from './report.ts';
import { beginRecord } from './runRecord.ts';
import { benchDivisions, benchKinds, benchLinks, scenariosOf } from './scenarios.ts';
import { serveBenchSite } from './site.ts';
import { createSlowLink } from './slowLink.ts';
import { openSubjects, type Stage } from './subject.ts';

/** A turn counts where others use no more; in a real-time class they use what is left over, and disturb nobody. */
const calmCores = isRealTime() ? Number.POSITIVE_INFINITY : 0.15;
const loopback = '127.0.0.1';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'resnet50,esrgan-slim' },
    divisions: { type: 'string', default: benchDivisions.join() },
    links: { type: 'string', default: 'unshaped' },
    kinds: { type: 'string', default: benchKinds.join() },
    runs: { type: 'string', default: '20' },
    calm: { type: 'string', default: '0' },
    patience: { type: 'string', default: '3' },
    throughput: { type: 'string', default: '0' },
    json: { type: 'string', default: fileURLToPath(new URL('./results/bench.json', import.meta.url)) },
  },
});

const tell = (what: string) => process.stderr.write(`${what}\n`);
const models = pick('--models', values.models, benchModels, ({ id }) => id);
const divisions = pick('--divisions', values.divisions, benchDivisions, String);
const kinds = pick('--kinds', values.kinds, benchKinds, String);
const links = pick('--links', values.links, Object.keys(benchLinks), String);

await inIsolation(main);

function pick<T>(option: string, given: string, known: readonly T[], nameOf: (one: T) => string): T[] {
  const names = given.split(',');
  const unknown = names.find((name) => !known.some((one) => nameOf(one) === name));
  if (unknown !== undefined) {
    tell(`Expected ${option} out of ${known.map(nameOf).join(', ')}, got "${unknown}".`);
    process.exit(1);
  }
  return known.filter((one) => names.includes(nameOf(one)));
}

async function main(isolated: boolean): Promise<void> {
  await waitForCalm(calmCores, Number(values.calm) * 1000);
  const record = beginRecord();
  // In a network of our own, nobody else can reach the site.
  const site = await serveBenchSite(isolated ? '0.0.0.0' : loopback, loopback);
  const browser = await chromium.launch(chromiumOptions());
  const slow = await slowStage(isolated, site.port);
  const usable = links.filter((link) => (benchLinks[link] ?? null) === null || slow !== null);
  const stage: Stage = { site, browser, slow };

  const [first] = models;
  if (first === undefined) return;
  const controlModel = await site.plans.model(first);
  const control = () => twoTabsControl(browser, site.pageUrl, controlModel);
  const before = await control();
  tell(controlsText('before', before));
  const exchanges = await exchangeControl([browser, browser], loopback);
  tell(exchangesTable(exchanges));
  const slowExchanges: Record<string, readonly Exchange[]> = {};
  for (const link of usable) {
    const megabits = benchLinks[link] ?? null;
    if (slow === null || megabits === null) continue;
    slow.link.setSpeed(megabits);
    slowExchanges[link] = await exchangeControl(slow.browsers, slow.link.host);
  }

  const costs = new Map(
    Object.entries({ unshaped: exchanges, ...slowExchanges }).map(([link, all]) => [
      link,
      all.map(({ bytes, bareMs }) => ({ bytes, ms: bareMs })),
    ]),
  );
  const measured: { readonly model: string; readonly title: string; readonly results: ScenarioResult[] }[] =
    [];
  for (const model of models) {
    const opened = await openSubjects(
      stage,
      model,
      scenariosOf(divisions, usable).filter(({ kind }) => kinds.includes(kind)),
      tell,
    );
    const options = {
      runs: Number(values.runs),
      runsPerTurn: 4,
      calmCores,
      patience: Number(values.patience),
      throughputMs: Number(values.throughput) * 1000,
      tell,
    };
    const results = await measureModel(opened.subjects, costs, options);
    await opened.close();
    measured.push({ model: model.id, title: model.title, results });
    tell(scenariosTable(model.title, results, before.quiet));
  }
  const after = await control();
  const quiet = before.quiet && after.quiet;
  const run = record(browser);
  await browser.close();
  for (const one of slow?.browsers ?? []) await one.close();
  slow?.link.close();
  await site.close();

  const report = {
    ...run,
    controls: { twoTabs: { before, after, quiet }, exchanges, slowExchanges },
    models: measured.map(({ results, ...model }) => ({
      ...model,
      results: results.map((result) => (quiet ? result : withoutRatios(result))),
    })),
  };
  const text = `${JSON.stringify(report, shorter)}\n`;
  console.log(controlsText('before', before));
  console.log(controlsText('after', after));
  console.log(`\n${exchangesTable(exchanges)}`);
  for (const { title, results } of measured) {
    console.log(`\n${scenariosTable(title, results, quiet)}`);
    console.log(`\n${breakdownTable(results)}`);
  }
  if (values.json === '-') console.log(text);
  else {
    mkdirSync(dirname(values.json), { recursive: true });
    writeFileSync(values.json, text);
  }
}

/** A busy machine publishes times, which are what they are, and no ratios. */
function withoutRatios({ whole, bound, predicted, throughput, ...result }: ScenarioResult) {
  return {
    ...result,
    toPlain: null,
    throughput: throughput === null ? null : { ...throughput, toPlain: null },
    predicted: predicted === null ? null : { ...predicted, ratio: null },
    whole: whole === null ? null : { ...whole, ratio: null, computeRatio: null },
    bound: bound === null ? null : { ...bound, ratio: null },
  };
}

/** Times of timelines to a hundredth of a millisecond. */
function shorter(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) && Math.abs(value) > 0.01
    ? rounded(value, 3)
    : value;
}

async function slowStage(isolated: boolean, port: number): Promise<Stage['slow']> {
  if (links.every((link) => (benchLinks[link] ?? null) === null)) return null;
  try {
    if (!isolated) throw new Error('network namespaces need Linux and root');
    const link = createSlowLink();
    const origin = `http://${link.host}:${port}`;
    const browsers: readonly [Browser, Browser] = await link.launch(origin);
    return { link, browsers, pageUrl: `${origin}/page/bench/page/index.html` };
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    tell(`Slow links are skipped: ${reason}.`);
    return null;
  }
}
