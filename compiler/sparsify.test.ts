import { expect, test } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import type { Model } from '../graph/graph.ts';
import { covers, range, size, toIndices } from '../graph/ranges.ts';
import { elementCount, float32View, type Tensor } from '../graph/tensor.ts';
import type { Division } from '../runtime/lower/program.ts';
import { inRoom, logitsOf, missed } from '../tests/support/blockAnswers.ts';
import { blockNetwork, blockPictures } from '../tests/support/blockNetwork.ts';
import { analyse } from './analyse.ts';
import type { Calibration } from './calibrate/calibration.ts';
import { findContractions, readWeights } from './calibrate/contractions.ts';
import { sparsify } from './sparsify.ts';
import type { SparsifySettings } from './sparsifySettings.ts';
import { choose, thin } from './thin.ts';

const backend = await createHeapBackend();
const settings: SparsifySettings = { numShards: 2, backend, calibration: blockPictures(256, 64), rows: 4000 };

/** The dense weights with zeros where a shard may not read. */
function onlyRemoved(model: Model, division: Division): Model {
  const initializers = new Map<string, Tensor>(model.graph.initializers);
  for (const contraction of findContractions(model.graph)) {
    const supports = division.supports?.get(contraction.node.name);
    const parts = division.shardings.get(contraction.output)?.parts;
    const tensor = initializers.get(contraction.weight);
    if (supports === undefined || parts === undefined || tensor === undefined) continue;
    const values = float32View(tensor).slice();
    const { inputChannels, outputChannels, taps, transposed } = contraction;
    for (const [shard, outputs] of parts.entries()) {
      const reads = new Set(toIndices(supports[shard] ?? []));
      for (const output of toIndices(outputs)) {
        for (let column = 0; column < inputChannels * taps; column++) {
          if (reads.has(Math.floor(column / taps))) continue;
          values[transposed ? column * outputChannels + output : output * inputChannels * taps + column] = 0;
        }
      }
    }
    initializers.set(contraction.weight, { ...tensor, data: new Uint8Array(values.buffer) });
  }
  return { ...model, graph: { ...model.graph, initializers } };
}

/** Bytes of a map of a block network. */
const largestFeature = 4 * 6 * 6;
const unseen = blockPictures(64, 32, 9);

test('assigning changes no output: a dense room of the new owners equals the model', async () => {
  const model = await blockNetwork(backend, 8, 2);
  const { division, crossing } = await analyse(model, settings);
  expect(crossing.after).toBeLessThanOrEqual(crossing.before);
  expect(
    missed(await logitsOf(backend, model, unseen), await inRoom(backend, model, division, unseen)),
  ).toBeLessThan(1e-10);
});

test('a sparse room equals the sparse model; adjusting beats removing; more budget is nearer', async () => {
  const model = await blockNetwork(backend, 12, 2);
  const analysis = await analyse(model, settings);
  const expected = await logitsOf(backend, model, unseen);
  let before = Number.POSITIVE_INFINITY;
  for (const keep of [0, 0.3, 0.7]) {
    // Least squares to the logits themselves, so that their error must fall.
    const sparse = await thin(analysis, choose(analysis, { keep }), { ...settings, scoreSweeps: 0 });
    const { sentBytes, denseBytes } = sparse.report;
    expect(sentBytes).toBeLessThanOrEqual(keep * denseBytes);
    expect(sentBytes).toBeGreaterThan(keep * denseBytes - largestFeature);
    const got = await logitsOf(backend, sparse.model, unseen);
    expect(missed(got, await inRoom(backend, sparse.model, sparse.division, unseen))).toBeLessThan(1e-10);
    const error = missed(expected, got);
    expect(error).toBeLessThan(
      0.8 * missed(expected, await logitsOf(backend, onlyRemoved(model, sparse.division), unseen)),
    );
    expect(error).toBeLessThan(before);
    before = error;
  }
});

test('a full budget leaves the model as it is', async () => {
  const model = await blockNetwork(backend, 8, 1);
  const { model: same, division, report } = await sparsify(model, { keep: 1 }, settings);
  expect(same).toBe(model);
  expect(division.supports?.size).toBe(0);
  expect(report.sentBytes).toBe(report.denseBytes);
});

test('weights outside the supports are zero, own channels are always inside', async () => {
  const model = await blockNetwork(backend, 12, 1);
  const numShards = 3;
  const { model: sparse, division } = await sparsify(model, { keep: 0.2 }, { ...settings, numShards });
  const contractions = findContractions(sparse.graph);
  const thinned = contractions.filter(({ node }) => division.supports?.has(node.name) === true);
  expect(thinned.length).toBeGreaterThan(1);
  for (const contraction of thinned) {
    const weights = readWeights(sparse.graph, contraction);
    const columns = contraction.inputChannels * contraction.taps;
    const supports = division.supports?.get(contraction.node.name) ?? [];
    const own = division.shardings.get(contraction.input)?.parts;
    for (const [shard, outputs] of (division.shardings.get(contraction.output)?.parts ?? []).entries()) {
      const support = supports[shard] ?? [];
      expect(covers(range(0, contraction.inputChannels), support)).toBe(true);
      if (own !== undefined) expect(covers(support, own[shard] ?? [])).toBe(true);
      const outside = new Set(toIndices(range(0, contraction.inputChannels)));
      for (const channel of toIndices(support)) outside.delete(channel);
      for (const output of toIndices(outputs)) {
        for (let column = 0; column < columns; column++) {
          if (outside.has(Math.floor(column / contraction.taps)))
            expect(weights[output * columns + column]).toBe(0);
        }
      }
    }
  }
});

test('capacities decide how many channels a shard owns', async () => {
  const model = await blockNetwork(backend, 8, 1);
  const { division } = await analyse(model, { ...settings, capacities: [3, 1] });
  expect(division.shardings.get('inner1')?.parts.map(size)).toEqual([6, 2]);
  await expect(analyse(model, { ...settings, capacities: [3] })).rejects.toThrow(/Capacities/);
});

test('calibration that cannot be used is refused in a sentence', async () => {
  const model = await blockNetwork(backend, 8, 1);
  await expect(
    analyse(model, { ...settings, calibration: { samples: 0, batches: () => [] } }),
  ).rejects.toThrow(/at least one sample/);
  const broken: Calibration = {
    samples: 4,
    *batches() {
      for (const batch of blockPictures(4, 4).batches() as Iterable<Record<string, Tensor>>) {
        const { pictures } = batch;
        if (pictures === undefined) continue;
        const data = new Float32Array(elementCount(pictures.dims)).fill(Number.NaN);
        yield { pictures: { ...pictures, data: new Uint8Array(data.buffer) } };
      }
    },
  };
  await expect(analyse(model, { ...settings, calibration: broken })).rejects.toThrow(/finite/);
});

test('memory does not grow with the samples: what is held fits the bytes that are allowed', async () => {
  const model = await blockNetwork(backend, 8, 2);
  const keptBytes = 400_000;
  const held: number[] = [];
  for (const samples of [300, 1200]) {
    const calibration = blockPictures(samples, 50);
    const analysis = await analyse(model, { ...settings, calibration, keptBytes });
    const rows = [...analysis.dense.values()].flat();
    const bytes = rows.reduce((sum, { targets }) => sum + targets.byteLength, 0);
    expect(bytes).toBeLessThan(1.2 * keptBytes);
    held.push(analysis.held.samples);
    let readings = 0;
    const counted: Calibration = {
      samples: analysis.held.samples,
      batches() {
        readings++;
        return analysis.held.batches();
      },
    };
    const { model: sparse } = await thin({ ...analysis, held: counted }, choose(analysis, { keep: 0.3 }), {
      ...settings,
      keptBytes,
    });
    expect(sparse).not.toBe(model);
    // Nothing had to be computed from the inputs again.
    expect(readings).toBe(1);
  }
  expect(held[0]).toBeGreaterThan(50);
  expect(held[0]).toBeLessThan(300);
  expect(held[1]).toBe(held[0]);
});
