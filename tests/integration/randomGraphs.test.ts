/** Any network of our operators, divided in any way over any devices, computes what it computes whole. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { cheapChannels } from '../../compiler/divide/cheapChannels.ts';
import { divideByChannels } from '../../compiler/divide/divideChannels.ts';
import type { DividedGraph } from '../../compiler/divide/dividedGraph.ts';
import { divideByRows } from '../../compiler/divide/divideRows.ts';
import { Comparator } from '../../compiler/measure/compare.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import { rewriteWires } from '../../compiler/wire/rewriteWires.ts';
import type { WireNode } from '../../compiler/wire/wireNodes.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor } from '../../graph/tensor.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import { RoomGraph } from '../../runtime/lower/roomGraph.ts';
import { expandStatistics } from '../../runtime/lower/statistics.ts';
import { localLink, referenceDevice } from '../../runtime/predict/costModel.ts';
import { wholeWeights } from '../../runtime/weights/blob.ts';
import { placements, randomDivision, randomSupports } from '../support/randomDivision.ts';
import { randomModel } from '../support/randomGraph.ts';
import { wiredReference } from '../support/wiredReference.ts';

const kinds = ['channels', 'cheap', 'rows', 'any', 'sparse'] as const;

const cost = { devices: [referenceDevice], link: localLink, host: 0 };

const cases = fc
  .record({
    seed: fc.nat(),
    length: fc.integer({ min: 1, max: 14 }),
    numShards: fc.integer({ min: 1, max: 6 }),
    sendFirst: fc.boolean(),
    statistics: fc.boolean(),
    kind: fc.constantFrom(...kinds),
  })
  .chain((record) => placements(record.numShards).map((placement) => ({ ...record, placement })));

const dividers: Record<(typeof kinds)[number], (...args: Parameters<typeof randomDivision>) => DividedGraph> =
  {
    channels: (graph, numShards) => ({ graph, division: divideByChannels(graph, numShards) }),
    cheap: (graph, numShards) => cheapChannels(graph, numShards, cost, true),
    rows: (graph, numShards) => divideByRows(graph, numShards),
    any: (graph, numShards, seed) => ({ graph, division: randomDivision(graph, numShards, seed) }),
    sparse: (graph, numShards) => ({ graph, division: divideByChannels(graph, numShards) }),
  };

test('random networks, divisions and placements equal the whole', async () => {
  const backend = await createHeapBackend();
  await fc.assert(
    fc.asyncProperty(cases, async ({ seed, length, numShards, sendFirst, statistics, kind, placement }) => {
      const original = randomModel(seed, length, statistics);
      const { graph, division: dividedAlike } = dividers[kind](original.graph, numShards, seed);
      const dense = { ...original, graph };
      const { model, division } =
        kind === 'sparse'
          ? randomSupports(dense, dividedAlike, seed)
          : { model: original, division: dividedAlike };
      const [input] = model.graph.inputs;
      const dims = (input?.shape ?? []).map(Number);
      const x = randomTensor('float32', dims, seededRandom(seed + 1));
      const session = await backend.createSession(saveModel(model).bytes);
      const expected = await runWhole(session, backend, { x });
      await session.release();
      // The room gets the weights that the sparse function leaves out, too: it must not read them.
      const plan = {
        model: dense,
        division: { ...division, sendFirst },
        openBatch: false,
        weights: wholeWeights(dense),
      };
      const room = await openLocalRoom({
        planOf: () => plan,
        placement,
        backend,
        random: seededRandom(seed),
      });
      const { outputs } = await room.run({ x });
      await room.close();
      const comparator = new Comparator();
      comparator.add(expected, outputs);
      const { relativeError, maxAbsError } = comparator.result();
      // Outputs near zero have no relative error worth the name.
      expect(Math.min(relativeError, maxAbsError)).toBeLessThan(1e-4);
    }),
    { numRuns: Number(process.env['STARLING_RUNS'] ?? 60) },
  );
});

/** No rounding, so that nothing depends on last bits, and far enough from the value that a wrong reader shows. */
const scaled = (factor: number): WireNode => ({
  opType: 'Mul',
  operands: [float32Tensor([], [factor])],
  attributes: {},
  dataType: 'float32',
});

test('a shard sees its own features as they are and those of others as they arrive, in every placement', async () => {
  const backend = await createHeapBackend();
  let crossed = 0;
  await fc.assert(
    fc.asyncProperty(cases, async ({ seed, length, numShards, sendFirst, statistics, kind, placement }) => {
      const original = randomModel(seed, length, statistics);
      const divided = dividers[kind](original.graph, numShards, seed);
      const sparse =
        kind === 'sparse'
          ? randomSupports({ ...original, graph: divided.graph }, divided.division, seed)
          : { model: { ...original, graph: divided.graph }, division: divided.division };
      const nodes = { send: [scaled(2)], arrive: [scaled(0.75)] };
      // A value that cannot be made part by part has no owners, whatever the division says.
      const expanded = expandStatistics(
        sparse.model.graph,
        sparse.division,
        oneShardEach(sparse.division.numShards),
      );
      const room = new RoomGraph(expanded.graph, expanded.division);
      const shardings = new Map(
        [...sparse.division.shardings].filter(([value]) => room.sharding(value) !== undefined),
      );
      const { graph, division } = rewriteWires(
        { graph: sparse.model.graph, division: { ...sparse.division, shardings, sendFirst } },
        new Map([...shardings.keys()].map((value) => [value, nodes] as const)),
      );
      const model = { ...sparse.model, graph };
      const [input] = model.graph.inputs;
      const x = randomTensor('float32', (input?.shape ?? []).map(Number), seededRandom(seed + 1));
      const each = expandStatistics(graph, division, oneShardEach(division.numShards));
      const reference = wiredReference({ ...model, graph: each.graph }, each.division);
      const session = await backend.createSession(saveModel(reference).bytes);
      const expected = await runWhole(session, backend, { x });
      await session.release();
      const plan = { model, division, openBatch: false, weights: wholeWeights(model), warmUp: false };
      const devices = await openLocalRoom({ planOf: () => plan, placement, backend });
      const { outputs } = await devices.run({ x });
      await devices.close();
      const comparator = new Comparator();
      comparator.add(expected, outputs);
      const { relativeError, maxAbsError } = comparator.result();
      expect(Math.min(relativeError, maxAbsError)).toBeLessThan(1e-4);
      crossed += lower(graph, division, placement).exchangedBytes;
    }),
    { numRuns: Number(process.env['STARLING_RUNS'] ?? 40) },
  );
  expect(crossed).toBeGreaterThan(0);
}, 180_000);
