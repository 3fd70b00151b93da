/** Results from partial results equal those of the whole operator, for random shapes, axes, owners and placements. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../../backends/ortHeap.ts';
import { Comparator } from '../../../compiler/measure/compare.ts';
import { openLocalRoom } from '../../../compiler/measure/localRoom.ts';
import { runWhole } from '../../../compiler/measure/verify.ts';
import type { Backend } from '../../../runtime/backend.ts';
import { lower } from '../../../runtime/lower/lower.ts';
import type { Division, Placement, Sharding } from '../../../runtime/lower/program.ts';
import { wholeWeights } from '../../../runtime/weights/blob.ts';
import { int, ints, random } from '../../../tests/support/operatorCase.ts';
import { placements } from '../../../tests/support/randomDivision.ts';
import type { Attribute, Graph, Model, Node } from '../../graph.ts';
import { shapedValues } from '../../nodeView.ts';
import { seededRandom } from '../../random.ts';
import { fromIndices, type Ranges } from '../../ranges.ts';
import { saveModel } from '../../save.ts';
import { float32Tensor, float32View, int64Tensor, type Tensor } from '../../tensor.ts';
import { statisticsOf, statisticsTable } from './table.ts';

interface Case {
  readonly attributes?: Readonly<Record<string, Attribute>>;
  readonly parameters?: readonly Tensor[];
  /** Where the output has another shape than the input. */
  readonly output?: readonly number[];
  /** That the input may be divided along. */
  readonly axis: number;
}

type Shape = readonly [number, number, number, number];
type Maker = (shape: Shape, axis: number, keep: boolean) => Case;

const without = (shape: readonly number[], axes: readonly number[], keep: boolean) =>
  keep
    ? shape.map((length, i) => (axes.includes(i) ? 1 : length))
    : shape.filter((_, i) => !axes.includes(i));

/** Over the axis alone, or over it and the last. */
const reduction: Maker = (shape, axis, keep) => {
  const axes = keep ? [axis] : [...new Set([axis, 3])].sort();
  return {
    attributes: { axes: ints(...axes), keepdims: int(keep ? 1 : 0) },
    output: without(shape, axes, keep),
    axis,
  };
};

const ones = (length: number) => float32Tensor([length], Array<number>(length).fill(1));

const global: Maker = (shape) => ({ output: [shape[0], shape[1], 1, 1], axis: 2 });
const along: Maker = (_, axis) => ({ attributes: { axis: int(axis) }, axis });
const extreme: Maker = (shape, axis, keep) => ({
  attributes: { axis: int(axis), keepdims: int(keep ? 1 : 0), select_last_index: int(keep ? 1 : 0) },
  output: without(shape, [axis], keep),
  axis,
});

const makers: Readonly<Record<string, Maker>> = {
  ReduceMean: reduction,
  ReduceMax: reduction,
  ReduceMin: reduction,
  ReduceProd: reduction,
  ReduceL1: reduction,
  ReduceL2: reduction,
  ReduceSumSquare: reduction,
  ReduceLogSum: reduction,
  ReduceLogSumExp: reduction,
  ReduceSum: (shape, axis, keep) => {
    const { output, attributes = {} } = reduction(shape, axis, keep);
    const { axes, ...others } = attributes;
    const listed = axes?.type === 'ints' ? axes.value : [];
    return { attributes: others, parameters: [int64Tensor(listed)], ...(output && { output }), axis };
  },
  ArgMax: extreme,
  ArgMin: extreme,
  Softmax: along,
  LogSoftmax: along,
  LpNormalization: (_, axis, keep) => ({ attributes: { axis: int(axis), p: int(keep ? 1 : 2) }, axis }),
  LayerNormalization: (shape, axis, keep) => {
    const dims = shape.slice(axis);
    return {
      attributes: { axis: int(axis - 4) },
      parameters: keep ? [random(dims), random(dims)] : [random(dims)],
      axis,
    };
  },
  InstanceNormalization: (shape) => ({ parameters: [random([shape[1]]), random([shape[1]])], axis: 2 }),
  MeanVarianceNormalization: (_, axis) => ({ attributes: { axes: ints(0, axis) }, axis }),
  GlobalAveragePool: global,
  GlobalMaxPool: global,
  AveragePool: (shape) => ({
    ...global(shape, 2, true),
    attributes: { kernel_shape: ints(shape[2], shape[3]) },
  }),
};

function modelOf(
  opType: string,
  shape: Shape,
  { attributes = {}, parameters = [], output = shape }: Case,
): Model {
  const names = parameters.map((_, i) => `p${i}`);
  const node = (type: string, inputs: string[], to: string, all: Case['attributes'] = {}): Node => ({
    name: to, opType: type, domain: '', inputs, outputs: [to], attributes: new Map(Object.entries(all)),
  }); // biome-ignore format: one record
  const dataType = opType.startsWith('Arg') ? 'int64' : 'float32';
  const graph: Graph = {
    name: opType,
    inputs: [{ name: 'x', dataType: 'float32', shape }],
    outputs: [{ name: 'y', dataType, shape: output }],
    nodes: [node('Identity', ['x'], 'a'), node(opType, ['a', ...names], 'y', attributes)],
    initializers: new Map(parameters.map((tensor, i) => [names[i] ?? '', tensor])),
    values: new Map([['a', { name: 'a', dataType: 'float32', shape }]]),
  };
  return { irVersion: 8, opsets: new Map([['', 17]]), producer: '', metadata: new Map(), graph };
}

/** Every index at a random shard, or in even runs. */
function randomSharding(axis: number, length: number, numShards: number, seed: number): Sharding {
  const next = seededRandom(seed);
  const scattered = next() < 0.5;
  const owners = Array.from({ length }, (_, i) =>
    Math.floor(scattered ? next() * numShards : (i * numShards) / length),
  );
  const parts = Array.from(
    { length: numShards },
    (_, shard): Ranges => fromIndices(owners.flatMap((owner, i) => (owner === shard ? [i] : []))),
  );
  return { axis, parts };
}

const length = (max: number) => fc.integer({ min: 1, max });

const cases = fc
  .record({
    shape: fc.tuple(length(2), length(9), length(7), length(5)),
    axis: fc.integer({ min: 1, max: 3 }),
    keep: fc.boolean(),
    numShards: fc.integer({ min: 2, max: 4 }),
    offset: fc.constantFrom(0, 0, 20),
    seed: fc.nat(),
  })
  .chain((record) => placements(record.numShards).map((placement) => ({ ...record, placement })));

test('every operator in the table is tried', () => {
  expect(Object.keys(makers).sort()).toEqual([...statisticsTable.keys()].sort());
});

async function whole(backend: Backend, model: Model, x: Tensor) {
  const session = await backend.createSession(saveModel(model).bytes);
  const outputs = await runWhole(session, backend, { x });
  await session.release();
  return outputs;
}

/** With statistics of `a`, which is divided like that. */
async function divided(backend: Backend, model: Model, sharding: Sharding, placement: Placement, x: Tensor) {
  const [, { opType = '' } = {}] = model.graph.nodes;
  const pointwise = statisticsTable.get(opType)?.pointwise === true;
  const division: Division = {
    numShards: sharding.parts.length,
    shardings: new Map([['a', sharding], ...(pointwise ? [['y', sharding] as const] : [])]),
    statistics: new Map([['y', sharding]]),
  };
  const plan = { model, division, openBatch: false, weights: wholeWeights(model), warmUp: false };
  const room = await openLocalRoom({ planOf: () => plan, placement, backend });
  const { outputs } = await room.run({ x });
  await room.close();
  return outputs;
}

describe('from partial results', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  test.each(Object.entries(makers))('%s', async (opType, make) => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, axis, keep, numShards, offset, seed, placement }) => {
        const made = make(shape, axis, keep);
        const model = modelOf(opType, shape, made);
        const { graph } = model;
        const node = graph.nodes[1];
        expect(node && statisticsOf(graph, shapedValues(graph), node)?.axes).toContain(made.axis);
        const sharding = randomSharding(made.axis, shape[made.axis] ?? 1, numShards, seed);
        const x = random(shape);
        const positive = opType === 'ReduceLogSum';
        const moved = opType === 'ReduceProd' ? 0 : offset;
        for (const [i, value] of float32View(x).entries())
          float32View(x)[i] = positive ? Math.abs(value) + 0.1 : value + moved;
        const expected = await whole(backend, model, x);
        const outputs = await divided(backend, model, sharding, placement, x);
        if (opType.startsWith('Arg')) expect(outputs['y']).toEqual(expected['y']);
        const comparator = new Comparator();
        comparator.add(expected, outputs);
        const { relativeError, maxAbsError } = comparator.result();
        // An offset takes digits of the deviations from both.
        expect(Math.min(relativeError, maxAbsError)).toBeLessThan(offset === 0 ? 1e-5 : 1e-3);
      }),
      { numRuns: Number(process.env['STARLING_RUNS'] ?? 25), seed: 7 },
    );
  });
});

test('moments do not cancel where the mean is far from zero', async () => {
  const shape = [1, 2, 3, 384] as const;
  const model = modelOf('LayerNormalization', shape, {
    attributes: { axis: int(-1) },
    parameters: [ones(384)],
    axis: 3,
  });
  const x = random(shape);
  for (const [i, value] of float32View(x).entries()) float32View(x)[i] = value + 3000 + (i % 384);
  const backend = await createHeapBackend();
  const outputs = await divided(backend, model, randomSharding(3, 384, 3, 5), [[0], [1], [2]], x);
  // In double precision.
  const values = [...float32View(x)];
  const expected = values.map((value, i) => {
    const row = values.slice(i - (i % 384), i - (i % 384) + 384);
    const mean = row.reduce((sum, one) => sum + one, 0) / 384;
    const variance = row.reduce((sum, one) => sum + (one - mean) ** 2, 0) / 384;
    return (value - mean) / Math.sqrt(variance + 1e-5);
  });
  const y = outputs['y'] && float32View(outputs['y']);
  expect(Math.max(...expected.map((value, i) => Math.abs(value - (y?.[i] ?? Number.NaN))))).toBeLessThan(
    1e-4,
  );
});

test('numbers travel instead of features', () => {
  const shape = [1, 64, 9, 11] as const;
  const made = makers['Softmax']?.(shape, 1, true) ?? { axis: 1 };
  const { graph } = modelOf('Softmax', shape, made);
  const sharding = randomSharding(1, 64, 2, 3);
  const shardings = new Map([
    ['a', sharding],
    ['y', sharding],
  ]);
  const gathered = lower(graph, { numShards: 2, shardings }, [[0], [1]]);
  const room = lower(graph, { numShards: 2, shardings, statistics: new Map([['y', sharding]]) }, [[0], [1]]);
  // The largest element and the sum, of every pixel, in both directions; and in one round.
  expect(room.exchangedBytes).toBe(2 * 2 * 99 * 4);
  expect(room.rounds).toBe(1);
  expect(room.exchangedBytes).toBeLessThan(gathered.exchangedBytes / 4);
  // One device runs the operator as it stands.
  const [alone] = lower(graph, { numShards: 2, shardings, statistics: new Map([['y', sharding]]) }, [
    [0, 1],
  ]).programs;
  expect(alone?.stages.flatMap(({ nodes }) => nodes.map(({ opType }) => opType))).toEqual([
    'Identity',
    'Softmax',
  ]);
});
