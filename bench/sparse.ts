/**
 * `npm run bench:sparse`: what a sparse exchange costs in quality. Networks divided by channels, adjusted after training
 * without labels, over several kept ratios; beside a global budget the same ratio in every exchange. Goes on where it was
 * stopped: every point is written as it is measured. Hours; `nice` it.
 *
 * `--rows`: of least squares per contraction; `--pictures`: at most so many give the figure, where there are more.
 *
 *   npm run bench:sparse -- --models resnet20 --shards 2,4 --keep 0,0.05,0.1,0.2,0.4,1 --json bench/results/sparse.json
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { chooseBackend } from '../cli/backendOption.ts';
import { type Analysis, analyse } from '../compiler/analyse.ts';
import { chooseBest } from '../compiler/chooseBest.ts';
import { normaliseModel } from '../compiler/normalise/normaliseModel.ts';
import { sparsifyDefaults } from '../compiler/sparsifySettings.ts';
import { thin } from '../compiler/thin.ts';
import { uniformWithin } from '../compiler/uniformWithin.ts';
import { sharedPath } from '../eval/cacheDir.ts';
import { loadModel } from '../graph/load.ts';
import type { Backend } from '../runtime/backend.ts';
import { currentCommit } from '../tests/verify/results.ts';
import { type Bench, costOf, measurePoint } from './sparse/measureRow.ts';
import { openPredictor } from './sparse/predictor.ts';
import { type RowName, readRows, rowKey, type Selection, writeRows } from './sparse/resultFile.ts';
import { type Subject, subjects } from './sparse/subjects.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: Object.keys(subjects).join() },
    shards: { type: 'string', default: '2,4' },
    keep: { type: 'string', default: '0,0.05,0.1,0.2,0.4,1' },
    rows: { type: 'string', default: String(sparsifyDefaults.rows) },
    pictures: { type: 'string', default: '10000' },
    json: { type: 'string', default: 'bench/results/sparse.json' },
  },
});
const numbers = (text: string) => text.split(',').map(Number);
const keeps = numbers(values.keep);
const rows = Number(values.rows);
const pictures = Number(values.pictures);
/** Of the code that was loaded; it may change meanwhile. */
const commit = currentCommit();

function note(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

/** Nothing and everything are the same however they are chosen. */
function pointsOf(name: string, shards: number): RowName[] {
  const selections = (keep: number): Selection[] =>
    keep > 0 && keep < 1 ? ['budget', 'uniform'] : ['budget'];
  return keeps.flatMap((keep) =>
    selections(keep).map((selection) => ({ model: name, shards, selection, keep })),
  );
}

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

async function measure(name: string, subject: Subject, shards: number, backend: Backend): Promise<void> {
  const done = new Set(readRows(values.json).map(rowKey));
  const missing = pointsOf(name, shards).filter((point) => !done.has(rowKey(point)));
  const path = sharedPath(`models/${subject.model}.onnx`);
  if (missing.length === 0) return;
  if (path === undefined) {
    note(`${name}: skipped, ../shared/models/${subject.model}.onnx is not on this machine.`);
    return;
  }
  const original = loadModel(new Uint8Array(await readFile(path)));
  const { shapes = {} } = subject;
  const { model, batchOpen } = await normaliseModel(original, { backend, shapes });
  const calibration = await subject.calibration(model.graph.inputs[0]?.name ?? '');
  const settings = { numShards: shards, calibration, backend, openBatch: batchOpen, rows };
  let step = '';
  const analysis: Analysis = await analyse(model, {
    ...settings,
    onProgress(next) {
      if (next !== step) note(`${name}, ${shards} shards: ${next}, ${Math.round(cpuSeconds())} s`);
      step = next;
    },
  });
  const run = await subject.task(pictures);
  const whole = await openPredictor(model, original, backend);
  const dense = await run(whole.predict);
  await whole.release();
  const denseQuality = dense.figures[subject.figure] ?? Number.NaN;
  note(`${name}, ${shards} shards: dense ${denseQuality}`);
  const bench: Bench = { backend, original, run, dense, figure: subject.figure };
  const denseCost = costOf(model, analysis.division);
  for (const point of missing) {
    const before = cpuSeconds();
    const budget = { keep: point.keep };
    const { name: chosenBy, fitted } =
      point.selection === 'budget'
        ? await chooseBest(analysis, budget, settings)
        : {
            name: 'uniform' as const,
            fitted: await thin(analysis, uniformWithin(analysis, budget, 'float32'), settings),
          };
    const measured = await measurePoint(bench, fitted);
    const row = {
      ...point,
      ...measured,
      chosenBy,
      figure: subject.figure,
      unit: subject.unit,
      pictures: dense.count,
      calibrationSamples: analysis.held.samples,
      rows,
      calibratedOn: subject.calibratedOn,
      measuredOn: subject.measuredOn,
      denseQuality,
      denseCost,
      cpuSeconds: Math.round(cpuSeconds() - before),
      backend: backend.name,
      commit,
      date: new Date().toISOString().slice(0, 10),
    };
    writeRows(values.json, [...readRows(values.json), row]);
    note(
      `${rowKey(point)}: ${subject.figure} ${measured.quality} (dense ${denseQuality}), ${measured.cost.bytes} of ${denseCost.bytes} bytes, ${row.cpuSeconds} s`,
    );
  }
}

const backend = await chooseBackend('auto', { threads: 1 });
for (const shards of numbers(values.shards)) {
  for (const name of values.models.split(',')) {
    const subject = subjects[name];
    if (subject === undefined)
      throw new Error(`Expected --models of ${Object.keys(subjects).join()}, got "${name}".`);
    // One model that fails leaves the others their turn.
    await measure(name, subject, shards, backend).catch((thrown: unknown) => {
      note(
        `${name}, ${shards} shards: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`,
      );
      process.exitCode = 1;
    });
  }
}
