/**
 * Plays the plans of a measured run with the cost model as it is now, over the links as that run's own controls measured
 * them, and writes the predictions beside the measurements. Measures nothing.
 *
 *   npx tsx bench/predictAgain.ts [FILE]
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { createHeapBackend } from '../backends/ortHeap.ts';
import type { Exchange } from './exchange.ts';
import { predictionOf, type ScenarioResult } from './measure.ts';
import { benchModels } from './models.ts';
import { BenchPlans } from './plans.ts';
import { megabitsOf } from './scenarios.ts';

interface BenchFile {
  readonly controls: {
    readonly exchanges: readonly Exchange[];
    readonly slowExchanges: Readonly<Record<string, readonly Exchange[]>>;
  };
  readonly models: readonly { readonly model: string; results: ScenarioResult[] }[];
}

const path = process.argv[2] ?? fileURLToPath(new URL('./results/bench.json', import.meta.url));
const file: BenchFile = JSON.parse(await readFile(path, 'utf8'));
const { exchanges, slowExchanges } = file.controls;
const costs = new Map(
  Object.entries({ unshaped: exchanges, ...slowExchanges }).map(([link, all]) => [
    link,
    all.map(({ bytes, bareMs }) => ({ bytes, ms: bareMs })),
  ]),
);
const folder = await mkdtemp(join(tmpdir(), 'starling-predict-'));
const plans = new BenchPlans(folder, await createHeapBackend({ threads: 1 }));
for (const measured of file.models) {
  const model = benchModels.find(({ id }) => id === measured.model);
  if (model === undefined) continue;
  const results: ScenarioResult[] = [];
  for (const result of measured.results) {
    const { scenario, medianMs } = result;
    const plan = scenario.kind === 'plain' ? null : await plans.plan(model, scenario, megabitsOf(scenario));
    // What is planned otherwise now was not measured.
    const same = plan === null || result.traffic === null || isDeepStrictEqual(plan.traffic, result.traffic);
    const predicted = same ? predictionOf(scenario, plan, medianMs, costs) : null;
    if (predicted !== null) {
      console.log(measured.model, result.title, medianMs, 'predicted', predicted.ms, `(${predicted.ratio})`);
    }
    results.push({ ...result, predicted });
  }
  measured.results = results;
}
await rm(folder, { recursive: true });
await writeFile(path, `${JSON.stringify(file)}\n`);
