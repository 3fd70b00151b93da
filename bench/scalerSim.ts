/**
 * The scaler in virtual time: how well it estimates, where it ends, how fast, and how that compares. Prints a table,
 * or JSON with --json; --out FILE writes the JSON beside it.
 *
 *   npm run bench:scaler-sim -- [--json] [--out bench/results/scaler-sim.json] [--seeds 5]
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compare } from './scalerSim/compare.ts';
import { curveCases } from './scalerSim/curves.ts';
import { followAll } from './scalerSim/follow.ts';
import { missingLatencies, readInstanceLatencies } from './scalerSim/instanceLatencies.ts';
import { printReport } from './scalerSim/printReport.ts';
import { estimatorReport, replayReport } from './scalerSim/replayReport.ts';
import { summarise } from './scalerSim/summarise.ts';

const { values } = parseArgs({
  options: { json: { type: 'boolean' }, out: { type: 'string' }, seeds: { type: 'string', default: '5' } },
});
const numSeeds = Number(values.seeds);
const networks = readInstanceLatencies();
if (networks === null) console.error(missingLatencies);
const estimator = networks === null ? null : estimatorReport(networks);
const replays = networks === null ? null : await replayReport(networks);
const curves = [];
let seed = 100;
for (const curveCase of curveCases()) {
  for (const p95Ms of curveCase.objectives) {
    const seeds = Array.from({ length: numSeeds }, () => seed++);
    curves.push(await compare(curveCase, p95Ms, seeds));
  }
}
const followed = await followAll();
const report = {
  seeds: numSeeds,
  ...summarise({ estimator, replays, curves, followed }),
  estimator,
  replays,
  curves,
  followed,
};
const json = `${JSON.stringify(report, rounded, 1)}\n`;
if (values.out !== undefined) writeFileSync(values.out, json);
if (values.json === true) process.stdout.write(json);
else printReport(report);

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value;
}
