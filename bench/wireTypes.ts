/**
 * What a narrower wire type costs in accuracy: a CIFAR-10 network thinned to several kept ratios, each sent as float32, float16
 * and uint8 (a scale per feature, and one per value), run by devices of one process on test pictures that nothing was
 * calibrated on. Beside it the bytes that cross. Writes bench/results/wire-MODEL-Nshards.json.
 *
 *   npx tsx bench/wireTypes.ts [resnet20|resnet32|resnet56] [--shards 2] [--calibrate 5000] [--keep 0.1,0.2,0.4,1] [--pictures 2000]
 */

import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { chooseBackend } from '../cli/backendOption.ts';
import type { Calibration } from '../compiler/calibrate/calibration.ts';
import { openLocalRoom } from '../compiler/measure/localRoom.ts';
import { normaliseModel } from '../compiler/normalise/normaliseModel.ts';
import { sparsify } from '../compiler/sparsify.ts';
import { narrowWires, type Wired } from '../compiler/wire/narrowWires.ts';
import { sharedPath } from '../eval/cacheDir.ts';
import { cifar10Input, type LabelledImages, loadCifar10 } from '../eval/cifar10.ts';
import { loadModel } from '../graph/load.ts';
import { float32Tensor, float32View } from '../graph/tensor.ts';
import type { ScaleChoice, WireChoice } from '../protocol/compileChoices.ts';
import type { Backend } from '../runtime/backend.ts';
import { oneShardEach } from '../runtime/lower/placements.ts';
import { wholeWeights } from '../runtime/weights/blob.ts';

const batchImages = 100;
/** Of the calibration pictures, those that scales are taken from. */
const scaleImages = 1000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    shards: { type: 'string', default: '2' },
    calibrate: { type: 'string', default: '5000' },
    keep: { type: 'string', default: '0.1,0.2,0.4,1' },
    pictures: { type: 'string', default: '2000' },
  },
});
const name = positionals[0] ?? 'resnet20';
const numShards = Number(values.shards);
const samples = Number(values.calibrate);
const testCount = Number(values.pictures);

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

function batchesOf(images: LabelledImages, input: string, count: number): Calibration {
  return {
    samples: count,
    *batches() {
      for (let start = 0; start < count; start += batchImages) {
        const size = Math.min(batchImages, count - start);
        yield { [input]: float32Tensor([size, 3, 32, 32], cifar10Input(images, start, size)) };
      }
    },
  };
}

/** Percentage of pictures that the devices name rightly, and the bytes that cross for one picture. */
async function measure(
  { model, division }: Wired,
  pictures: Calibration,
  labels: ArrayLike<number>,
  backend: Backend,
) {
  const plan = { model, division, openBatch: true, weights: wholeWeights(model), warmUp: false };
  const placement = oneShardEach(numShards);
  const room = await openLocalRoom({ planOf: () => plan, placement, backend });
  let right = 0;
  let seen = 0;
  for await (const batch of pictures.batches()) {
    const [scores] = Object.values((await room.run(batch)).outputs);
    if (scores === undefined) continue;
    const classes = scores.dims.at(-1) ?? 1;
    const all = float32View(scores);
    for (let start = 0; start < all.length; start += classes) {
      const row = all.subarray(start, start + classes);
      if (row.indexOf(row.reduce((a, b) => Math.max(a, b))) === labels[seen++]) right++;
    }
  }
  await room.close();
  return {
    accuracy: Math.round((1e4 * right) / seen) / 100,
    bytes: room.room.exchangedBytes,
    rounds: room.room.rounds,
  };
}

const path = sharedPath(`models/${name}-cifar10.onnx`);
if (path === undefined) {
  note(`Skipped: ../shared/models/${name}-cifar10.onnx is not on this machine.`);
  process.exit(0);
}
const backend = await chooseBackend('auto', { threads: 1 });
const { model } = await normaliseModel(loadModel(new Uint8Array(await readFile(path))), { backend });
const input = model.graph.inputs[0]?.name ?? '';
const test = await loadCifar10('test');
const pictures = batchesOf(test, input, testCount);
const train = await loadCifar10('train', samples);
const calibration = batchesOf(train, input, samples);
const scales = batchesOf(train, input, Math.min(samples, scaleImages));
const kinds: readonly (readonly [WireChoice, ScaleChoice])[] = [
  ['float32', 'feature'],
  ['float16', 'feature'],
  ['uint8', 'feature'],
  ['uint8', 'tensor'],
];
const rows = [];
for (const keep of values.keep.split(',').map(Number)) {
  const sparse = await sparsify(model, { keep }, { numShards, calibration, backend });
  for (const [wire, scalePer] of kinds) {
    const options = { wire, scalePer, calibration: scales, backend, openBatch: true };
    const wired = await narrowWires(sparse.model, sparse.division, options);
    const row = { keep, wire, scalePer, ...(await measure(wired, pictures, test.labels, backend)) };
    note(JSON.stringify(row));
    rows.push(row);
  }
}
const result = { model: name, numShards, calibration: samples, pictures: testCount, rows };
await writeFile(
  new URL(`results/wire-${name}-${numShards}shards.json`, import.meta.url),
  `${JSON.stringify(result, undefined, 1)}\n`,
);
