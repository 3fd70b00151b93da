/**
 * What a narrower wire type costs in quality: a subject of the sparse bench thinned to several kept ratios, each sent as
 * float32, float16 and uint8 (a scale per feature, and one per value). Beside it the bytes that cross. Scales are from
 * calibration inputs; no picture that gives the figure is among them. Writes bench/results/wire-MODEL-Nshards.json.
 *
 *   npx tsx bench/wireTypes.ts [resnet20|esrgan-slim|...] [--shards 2] [--keep 0.2] [--rows 40000] [--pictures 2000]
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { chooseBackend } from '../cli/backendOption.ts';
import { analyse } from '../compiler/analyse.ts';
import { heldSamples } from '../compiler/calibrate/heldSamples.ts';
import { chooseBest } from '../compiler/chooseBest.ts';
import { normaliseModel } from '../compiler/normalise/normaliseModel.ts';
import { sparsifyDefaults } from '../compiler/sparsifySettings.ts';
import { narrowWires } from '../compiler/wire/narrowWires.ts';
import { sharedPath } from '../eval/cacheDir.ts';
import { loadModel } from '../graph/load.ts';
import type { ScaleChoice, WireChoice } from '../protocol/compileChoices.ts';
import { currentCommit } from '../tests/verify/results.ts';
import { openLoweredPredictor } from './sparse/loweredPredictor.ts';
import { costOf } from './sparse/measureRow.ts';
import { subjects } from './sparse/subjects.ts';

/** Of the calibration's samples, those that scales are taken from. */
const scaleSamples = 1000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    shards: { type: 'string', default: '2' },
    keep: { type: 'string', default: '0.2' },
    rows: { type: 'string', default: String(sparsifyDefaults.rows) },
    pictures: { type: 'string', default: '2000' },
  },
});
const name = positionals[0] ?? 'resnet20';
const numShards = Number(values.shards);
const rows = Number(values.rows);

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

const subject = subjects[name];
if (subject === undefined) throw new Error(`Expected one of ${Object.keys(subjects).join()}, got "${name}".`);
const path = sharedPath(`models/${subject.model}.onnx`);
if (path === undefined) {
  note(`Skipped: ../shared/models/${subject.model}.onnx is not on this machine.`);
  process.exit(0);
}
const commit = currentCommit();
const backend = await chooseBackend('auto', { threads: 1 });
const original = loadModel(new Uint8Array(await readFile(path)));
const { model, batchOpen: openBatch } = await normaliseModel(original, {
  backend,
  shapes: subject.shapes ?? {},
});
const calibration = await subject.calibration(model.graph.inputs[0]?.name ?? '');
const scales = await heldSamples(calibration, scaleSamples);
const run = await subject.task(Number(values.pictures));
const kinds: readonly (readonly [WireChoice, ScaleChoice])[] = [
  ['float32', 'feature'],
  ['float16', 'feature'],
  ['uint8', 'feature'],
  ['uint8', 'tensor'],
];
const settings = { numShards, calibration, backend, openBatch, rows };
const analysis = await analyse(model, settings);
const points = [];
let pictures = 0;
for (const keep of values.keep.split(',').map(Number)) {
  const { fitted: sparse } = await chooseBest(analysis, { keep }, settings);
  for (const [wire, scalePer] of kinds) {
    const options = { wire, scalePer, calibration: scales, backend, openBatch };
    const wired = await narrowWires(sparse.model, sparse.division, options);
    const predictor = await openLoweredPredictor(wired, original, backend);
    const { count, figures } = await run(predictor.predict);
    await predictor.release();
    const { bytes, rounds } = costOf(wired.model, wired.division);
    pictures = count;
    points.push({ keep, wire, scalePer, quality: figures[subject.figure], bytes, rounds });
    note(JSON.stringify(points.at(-1)));
  }
}
const { figure, unit, calibratedOn, measuredOn } = subject;
const result = {
  model: name,
  numShards,
  figure,
  unit,
  calibratedOn,
  calibrationSamples: calibration.samples,
  measuredOn,
  pictures,
  rows,
  commit,
  points,
};
await writeFile(
  new URL(`results/wire-${name}-${numShards}shards.json`, import.meta.url),
  `${JSON.stringify(result, undefined, 1)}\n`,
);
