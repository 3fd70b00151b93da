/** Channels that are sent lie together; nothing else changes. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Model } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { fromIndices, union } from '../../graph/ranges.ts';
import { saveModel } from '../../graph/save.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { wholeWeights } from '../../runtime/weights/blob.ts';
import { blockNetwork, blockPictures } from '../../tests/support/blockNetwork.ts';
import { randomModel } from '../../tests/support/randomGraph.ts';
import { findContractions } from '../calibrate/contractions.ts';
import { channelClasses } from '../divide/channelSpaces.ts';
import { classGroups, divisionByOwners } from '../divide/divideChannels.ts';
import { channelAxes } from '../divide/followAxes.ts';
import { Comparator } from '../measure/compare.ts';
import { openLocalRoom } from '../measure/localRoom.ts';
import { runWhole } from '../measure/verify.ts';
import { sparsify } from '../sparsify.ts';
import { permutedGraph } from './permutedGraph.ts';
import { sentTogether } from './sentTogether.ts';
import { togetherOrder } from './togetherOrder.ts';

const backend = await createHeapBackend();

test.each([
  [[[1, 4]], [1, 4]],
  [
    [
      [0, 3, 5],
      [2, 3, 4],
    ],
    [0, 2, 3, 4, 5],
  ],
])('%j: each set lies together', (sets, all) => {
  const order = togetherOrder(
    [0, 1, 2, 3, 4, 5],
    sets.map((ids, i) => ({ ids: new Set(ids), bytes: 10 - i })),
  );
  expect([...order].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  for (const ids of [...sets, all]) {
    const places = ids.map((id) => order.indexOf(id)).sort((a, b) => a - b);
    expect((places.at(-1) ?? 0) - (places[0] ?? 0)).toBe(ids.length - 1);
  }
});

test('what lies together stays where it is', () => {
  const ids = [7, 5, 9, 2];
  expect(togetherOrder(ids, [{ ids: new Set([5, 9]), bytes: 1 }])).toBe(ids);
});

/** Random owners, and of what others own a random part. */
function thinned(model: Model, numShards: number, seed: number): Division {
  const random = seededRandom(seed);
  const axes = channelAxes(model.graph, true);
  const classes = channelClasses(axes, numShards);
  const owners = new Map([...classes.values()].flat().map((id) => [id, Math.floor(numShards * random())]));
  const dense = divisionByOwners(axes, classes, owners, numShards);
  const supports = findContractions(model.graph).flatMap(({ node, input, output, inputChannels }) => {
    const parts = dense.shardings.get(input)?.parts;
    if (parts === undefined || !dense.shardings.has(output)) return [];
    const all = Array.from({ length: inputChannels }, (_, channel) => channel);
    return [
      [node.name, parts.map((own) => union(own, fromIndices(all.filter(() => random() < 0.3))))] as const,
    ];
  });
  return { ...dense, supports: new Map(supports) };
}

/** Operators that make what is sent. */
function cutters({ graph }: Model, division: Division): string[] {
  return lower(graph, division, oneShardEach(division.numShards)).programs.flatMap(({ stages, sends }) => {
    const made = new Map(stages.flatMap(({ nodes }) => nodes.map((node) => [node.outputs[0], node.opType])));
    return sends.map(({ sourceName }) => made.get(sourceName) ?? '');
  });
}

const isScattered = (opType: string) => opType === 'Gather' || opType === 'Concat';

async function answers(model: Model, division: Division, inputs: Readonly<Record<string, Tensor>>) {
  const plan = { model, division, openBatch: true, weights: wholeWeights(model), warmUp: false };
  const room = await openLocalRoom({
    planOf: () => plan,
    placement: oneShardEach(division.numShards),
    backend,
  });
  const { outputs } = await room.run({ ...inputs });
  await room.close();
  return outputs;
}

function errorOf(expected: Readonly<Record<string, Tensor>>, got: Readonly<Record<string, Tensor>>): number {
  const comparator = new Comparator();
  comparator.add(expected, got);
  return comparator.result().relativeError;
}

test('of a thinned division slices are sent, and its shards answer as they did', async () => {
  const model = await blockNetwork(backend, 24, 3);
  const division = thinned(model, 2, 5);
  const placed = sentTogether({ model, division }, true);
  const [before, after] = [cutters(model, division), cutters(placed.model, placed.division)];
  expect(before.filter(isScattered).length).toBeGreaterThan(8);
  expect(after).toHaveLength(before.length);
  // Blocks that are added hold one order for all that each of them sends.
  expect(after.filter(isScattered).length).toBeLessThanOrEqual(2);
  const cost = (of: Model, by: Division) => {
    const { programs, exchangedBytes, rounds } = lower(of.graph, by, oneShardEach(2));
    return { exchangedBytes, rounds, macs: programs.map(({ macs }) => macs) };
  };
  expect(cost(placed.model, placed.division)).toEqual(cost(model, division));
  const pictures = randomTensor('float32', [2, 3, 6, 6], seededRandom(6));
  const expected = await answers(model, division, { pictures });
  expect(errorOf(expected, await answers(placed.model, placed.division, { pictures }))).toBeLessThan(1e-5);
});

test('combinations of features are sent as they were', async () => {
  const model = await blockNetwork(backend, 12, 2);
  const settings = { numShards: 2, backend, calibration: blockPictures(128, 16), rows: 1000 };
  const { model: combined, division } = await sparsify(model, { keep: 0.3 }, settings);
  const placed = sentTogether({ model: combined, division }, true);
  expect(placed.model).not.toBe(combined);
  const pictures = randomTensor('float32', [2, 3, 6, 6], seededRandom(6));
  const expected = await answers(combined, division, { pictures });
  expect(errorOf(expected, await answers(placed.model, placed.division, { pictures }))).toBeLessThan(1e-5);
  const [before, after] = [cutters(combined, division), cutters(placed.model, placed.division)];
  expect(after.filter(isScattered).length).toBeLessThan(before.filter(isScattered).length);
});

test('channels of random networks change places at random: the same answers', async () => {
  let moved = 0;
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 2, max: 14 }), async (seed, length) => {
      const model = randomModel(seed, length, seed % 2 === 0);
      const axes = channelAxes(model.graph, true);
      const classes = channelClasses(axes, 1);
      const random = seededRandom(seed + 2);
      const moves = new Map(
        classGroups(classes).flatMap((ids) => {
          const order = ids.map((id) => ({ id, at: random() })).sort((a, b) => a.at - b.at);
          return ids.map((id, i) => [id, order[i]?.id ?? id] as const);
        }),
      );
      const permuted = permutedGraph(model.graph, { axes, classes, moves });
      if (permuted === undefined) return;
      moved++;
      const x = randomTensor(
        'float32',
        (model.graph.inputs[0]?.shape ?? []).map(Number),
        seededRandom(seed + 1),
      );
      const wholeOf = async (of: Model) => {
        const session = await backend.createSession(saveModel(of).bytes);
        const outputs = await runWhole(session, backend, { x });
        await session.release();
        return outputs;
      };
      const got = await wholeOf({ ...model, graph: permuted.graph });
      expect(errorOf(await wholeOf(model), got)).toBeLessThan(1e-4);
    }),
    { numRuns: 60 },
  );
  expect(moved).toBeGreaterThan(5);
}, 120_000);
