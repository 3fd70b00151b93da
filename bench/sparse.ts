/**
 * What a sparse exchange costs in accuracy: a CIFAR-10 network divided by channels, adjusted after training without labels on
 * pictures of the training part, and measured on the 10,000 test pictures, over several budgets. Also with the same ratio in
 * every exchange, and with what is not sent only removed. Writes bench/results/sparse-MODEL-Nshards.json.
 *
 *   npx tsx bench/sparse.ts [resnet20|resnet32|resnet56] [--shards 2] [--calibrate 10000] [--keep 0,0.05,0.1,0.2,0.4,0.6]
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { createNodeBackend } from '../backends/ortNode.ts';
import { analyse } from '../compiler/analyse.ts';
import type { Calibration } from '../compiler/calibrate/calibration.ts';
import { findContractions, readBias, readWeights, withWeights } from '../compiler/calibrate/contractions.ts';
import { openPrefix } from '../compiler/calibrate/prefix.ts';
import { normaliseModel } from '../compiler/normalise/normaliseModel.ts';
import type { Candidate } from '../compiler/select/scores.ts';
import { choose, type Sparsified, thin } from '../compiler/sparsify.ts';
import { sharedPath } from '../eval/cacheDir.ts';
import { cifar10Input, type LabelledImages, loadCifar10 } from '../eval/cifar10.ts';
import type { Model } from '../graph/graph.ts';
import { loadModel } from '../graph/load.ts';
import { toIndices } from '../graph/ranges.ts';
import { float32Tensor } from '../graph/tensor.ts';
import type { Backend } from '../runtime/backend.ts';
import { lower } from '../runtime/lower/lower.ts';

const batchImages = 125;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    shards: { type: 'string', default: '2' },
    calibrate: { type: 'string', default: '10000' },
    keep: { type: 'string', default: '0,0.05,0.1,0.2,0.4,0.6' },
    uniform: { type: 'string', default: '0.1,0.2,0.4' },
  },
});
const name = positionals[0] ?? 'resnet20';
const numShards = Number(values.shards);
const samples = Number(values.calibrate);
const ratios = (text: string) => (text === '' ? [] : text.split(',').map(Number));

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** The native runtime where it is installed; the figures are the same, the time is not. */
async function fastestBackend(): Promise<Backend> {
  return createNodeBackend({ threads: 1 }).catch(() => createHeapBackend());
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

async function decisions(model: Model, pictures: Calibration, backend: Backend): Promise<number[]> {
  const [output = ''] = model.graph.outputs.map(({ name: value }) => value);
  const prefix = await openPrefix(model, [output], backend);
  const result: number[] = [];
  for await (const batch of pictures.batches()) {
    const { data, dims } = (await prefix.run(batch)).get(output) ?? { data: new Float32Array(0), dims: [] };
    const classes = dims.at(-1) ?? 1;
    for (let start = 0; start < data.length; start += classes) {
      const row = data.subarray(start, start + classes);
      result.push(row.indexOf(row.reduce((a, b) => Math.max(a, b))));
    }
  }
  await prefix.release();
  return result;
}

function percent(got: readonly number[], wanted: ArrayLike<number>): number {
  return Math.round((1e4 * got.filter((value, i) => value === wanted[i]).length) / got.length) / 100;
}

/** The dense weights without the columns that a shard may not read. */
function onlyRemoved(model: Model, { division }: Sparsified): Model {
  let { graph } = model;
  for (const contraction of findContractions(model.graph)) {
    const supports = division.supports?.get(contraction.node.name);
    const parts = division.shardings.get(contraction.output)?.parts;
    if (supports === undefined || parts === undefined) continue;
    const weights = readWeights(graph, contraction);
    const columns = contraction.inputChannels * contraction.taps;
    for (const [shard, outputs] of parts.entries()) {
      const reads = new Set(toIndices(supports[shard] ?? []));
      for (const output of toIndices(outputs)) {
        for (let column = 0; column < columns; column++)
          if (!reads.has(Math.floor(column / contraction.taps))) weights[output * columns + column] = 0;
      }
    }
    graph = withWeights(graph, contraction, weights, readBias(graph, contraction));
  }
  return { ...model, graph };
}

/** The same ratio in every exchange: the best features of each, for each reader. */
function uniformly(candidates: readonly Candidate[], keep: number): readonly Candidate[] {
  const exchanges = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const key = `${candidate.reader} ${candidate.feature.value}`;
    exchanges.set(key, [...(exchanges.get(key) ?? []), candidate]);
  }
  return [...exchanges.values()].flatMap((list) =>
    list.sort((a, b) => b.score - a.score).slice(0, Math.round(keep * list.length)),
  );
}

const path = sharedPath(`models/${name}-cifar10.onnx`);
if (path === undefined) {
  note(`Skipped: ../shared/models/${name}-cifar10.onnx is not on this machine.`);
  process.exit(0);
}
const backend = await fastestBackend();
const { model } = await normaliseModel(loadModel(new Uint8Array(await readFile(path))), { backend });
const input = model.graph.inputs[0]?.name ?? '';
const test = await loadCifar10('test');
const testPictures = batchesOf(test, input, test.count);
const calibration = batchesOf(await loadCifar10('train', samples), input, samples);
const settings = { numShards, calibration, backend };
const placement = Array.from({ length: numShards }, (_, shard) => [shard]);
const started = process.cpuUsage();
const cpuSeconds = () => Math.round(process.cpuUsage(started).user / 1e5) / 10;

const dense = await decisions(model, testPictures, backend);
const analysis = await analyse(model, settings);
note(
  `${name}, ${numShards} shards: dense ${percent(dense, test.labels)} %, analysed after ${cpuSeconds()} s of processor time`,
);
const denseRoom = lower(model.graph, analysis.division, placement);

async function measure(label: string, keep: number, chosen: readonly Candidate[]) {
  const sparse = await thin(analysis, chosen, settings);
  const got = await decisions(sparse.model, testPictures, backend);
  const removed = await decisions(onlyRemoved(model, sparse), testPictures, backend);
  const room = lower(sparse.model.graph, sparse.division, placement);
  const row = {
    selection: label,
    keep,
    top1: percent(got, test.labels),
    agreement: percent(got, dense),
    top1OnlyRemoved: percent(removed, test.labels),
    sentFeatures: sparse.report.sentFeatures,
    denseFeatures: sparse.report.denseFeatures,
    bytes: room.exchangedBytes,
    denseBytes: denseRoom.exchangedBytes,
    rounds: room.rounds,
    denseRounds: denseRoom.rounds,
    macsPerShard: room.programs.map(({ macs }) => macs),
    denseMacsPerShard: denseRoom.programs.map(({ macs }) => macs),
  };
  note(
    `${label} kept ${keep}: top-1 ${row.top1} % (only removed ${row.top1OnlyRemoved} %), ${row.bytes} of ${row.denseBytes} bytes in ${row.rounds} rounds, ${cpuSeconds()} s`,
  );
  return row;
}

const rows = [];
for (const keep of ratios(values.keep)) rows.push(await measure('budget', keep, choose(analysis, { keep })));
for (const keep of ratios(values.uniform)) {
  rows.push(await measure('uniform', keep, uniformly(analysis.candidates, keep)));
}
const result = {
  model: `${name}-cifar10`,
  numShards,
  calibrationImages: samples,
  calibrationFrom: 'training images, without labels',
  testImages: test.count,
  backend: backend.name,
  denseTop1: percent(dense, test.labels),
  crossingEnergy: analysis.crossing,
  rows,
};
const file = new URL(`results/sparse-${name}-${numShards}shards.json`, import.meta.url);
await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
