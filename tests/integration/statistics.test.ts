/**
 * Networks in which results are taken over divided channels or rows: compiled, the planner exchanges statistics where they
 * are cheaper than features, and every placement gives the model's answer; without them it would not.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { DivisionAxis } from '../../compiler/compile.ts';
import { Comparator } from '../../compiler/measure/compare.ts';
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Placement } from '../../runtime/lower/program.ts';
import { referenceDevice } from '../../runtime/predict/costModel.ts';
import { compiledPlan, modelBytes, roomAnswer, unnamed, wholeAnswer } from '../support/dividedAnswer.ts';
import { dropped, faultyArrival } from '../support/faults.ts';
import { int, ints, random } from '../support/operatorCase.ts';

interface Network {
  readonly axis: DivisionAxis;
  readonly input: readonly number[];
  readonly nodes: readonly Node[];
  readonly weights: Readonly<Record<string, Tensor>>;
  readonly output?: Partial<Graph['outputs'][number]>;
  /** Operators that exchange statistics in the plan. */
  readonly exchanging: readonly string[];
  /** Whether their statistics travel in one round. */
  readonly together?: true;
}

const node = (opType: string, inputs: string[], output: string, attributes?: Record<string, Attribute>) =>
  unnamed(opType, inputs, [output], attributes);

/** On which features are dear. */
const slowLink = { messageMs: 0.1, roundTripMs: 1, bytesPerMs: 1000 };

const padded = { pads: ints(1, 1, 1, 1) };
const overChannels = { axes: ints(1) };

const networks: Readonly<Record<string, Network>> = {
  'classes of every pixel': {
    axis: 'channels',
    input: [1, 3, 24, 24],
    nodes: [
      node('Conv', ['x', 'w0'], 'a', padded),
      node('Relu', ['a'], 'b'),
      node('ArgMax', ['b'], 'y', { axis: int(1), keepdims: int(0) }),
    ],
    weights: { w0: random([64, 3, 3, 3]) },
    output: { dataType: 'int64' },
    exchanging: ['ArgMax'],
  },
  'expected disparity of every pixel': {
    axis: 'channels',
    input: [1, 3, 24, 24],
    nodes: [
      node('Conv', ['x', 'w0'], 'a', padded),
      node('Softmax', ['a'], 'b', { axis: int(1) }),
      node('Mul', ['b', 'w1'], 'c'),
      node('ReduceSum', ['c', 'axes'], 'y'),
    ],
    weights: { w0: random([64, 3, 3, 3]), w1: random([64, 1, 1]), axes: int64Tensor([1]) },
    exchanging: ['Softmax', 'ReduceSum'],
  },
  'spatial attention': {
    axis: 'channels',
    input: [1, 3, 24, 24],
    nodes: [
      node('Conv', ['x', 'w0'], 'a', padded),
      node('ReduceMean', ['a'], 'm', overChannels),
      node('ReduceMax', ['a'], 'n', overChannels),
      node('Concat', ['m', 'n'], 'c', { axis: int(1) }),
      node('Conv', ['c', 'w1'], 's', padded),
      node('Sigmoid', ['s'], 'g'),
      node('Mul', ['a', 'g'], 'p'),
      node('GlobalAveragePool', ['p'], 'q'),
      node('Conv', ['q', 'w2'], 'y'),
    ],
    weights: { w0: random([64, 3, 3, 3]), w1: random([1, 2, 3, 3]), w2: random([10, 64, 1, 1]) },
    exchanging: ['ReduceMean', 'ReduceMax'],
  },
  'layer normalisation in parts': {
    axis: 'channels',
    input: [1, 96, 32],
    nodes: [
      node('MatMul', ['x', 'w0'], 'a'),
      node('ReduceMean', ['a'], 'm', { axes: ints(-1) }),
      node('Sub', ['a', 'm'], 'd'),
      node('Pow', ['d', 'two'], 's'),
      node('ReduceMean', ['s'], 'v', { axes: ints(-1) }),
      node('Add', ['v', 'e'], 'f'),
      node('Sqrt', ['f'], 'r'),
      node('Div', ['d', 'r'], 'n'),
      node('Mul', ['n', 'w1'], 'l'),
      node('MatMul', ['l', 'w2'], 'y'),
    ],
    weights: {
      w0: random([32, 512]),
      w2: random([512, 4]),
      w1: random([512]),
      two: float32Tensor([], [2]),
      e: float32Tensor([], [1e-5]),
    },
    exchanging: ['LayerNormalization'],
  },
  'layer normalisation of every pixel in parts': {
    axis: 'channels',
    input: [1, 3, 24, 24],
    nodes: [
      node('Conv', ['x', 'w0'], 'a', padded),
      node('ReduceMean', ['a'], 'm', overChannels),
      node('Sub', ['a', 'm'], 'd'),
      node('Pow', ['d', 'two'], 's'),
      node('ReduceMean', ['s'], 'v', overChannels),
      node('Add', ['v', 'e'], 'f'),
      node('Sqrt', ['f'], 'r'),
      node('Div', ['d', 'r'], 'n'),
      node('Mul', ['w1', 'n'], 'l'),
      node('Add', ['l', 'b1'], 'k'),
      node('Conv', ['k', 'w2'], 'y'),
    ],
    weights: {
      w0: random([64, 3, 3, 3]),
      w2: random([4, 64, 1, 1]),
      w1: random([64, 1, 1]),
      b1: random([64, 1, 1]),
      two: float32Tensor([], [2]),
      e: float32Tensor([], [1e-6]),
    },
    exchanging: ['ReduceMean', 'ReduceMean'],
    together: true,
  },
  'layer normalisation of every pixel between transpositions': {
    axis: 'channels',
    input: [1, 3, 24, 24],
    nodes: [
      node('Conv', ['x', 'w0'], 'a', padded),
      node('Transpose', ['a'], 't', { perm: ints(0, 2, 3, 1) }),
      node('LayerNormalization', ['t', 'w1', 'b1'], 'n'),
      node('Transpose', ['n'], 'k', { perm: ints(0, 3, 1, 2) }),
      node('Conv', ['k', 'w2'], 'y'),
    ],
    weights: {
      w0: random([64, 3, 3, 3]),
      w2: random([4, 64, 1, 1]),
      w1: random([64]),
      b1: random([64]),
    },
    exchanging: ['LayerNormalization'],
  },
  'root mean square normalisation in parts': {
    axis: 'channels',
    input: [1, 96, 32],
    nodes: [
      node('MatMul', ['x', 'w0'], 'a'),
      node('Pow', ['a', 'two'], 's'),
      node('ReduceMean', ['s'], 'v', { axes: ints(-1) }),
      node('Add', ['v', 'e'], 'f'),
      node('Sqrt', ['f'], 'q'),
      node('Reciprocal', ['q'], 'r'),
      node('Mul', ['a', 'r'], 'n'),
      node('Mul', ['n', 'w1'], 'l'),
      node('MatMul', ['l', 'w2'], 'y'),
    ],
    weights: {
      w0: random([32, 512]),
      w2: random([512, 4]),
      w1: random([512]),
      two: float32Tensor([], [2]),
      e: float32Tensor([], [1e-5]),
    },
    exchanging: ['ReduceMean'],
  },
  'instance normalisation between strips': {
    axis: 'rows',
    input: [1, 3, 32, 24],
    nodes: [
      node('Conv', ['x', 'w0'], 'a', padded),
      node('InstanceNormalization', ['a', 'w1', 'w2'], 'b'),
      node('Relu', ['b'], 'c'),
      node('Conv', ['c', 'w3'], 'y', padded),
    ],
    weights: { w0: random([8, 3, 3, 3]), w1: random([8]), w2: random([8]), w3: random([8, 8, 3, 3]) },
    exchanging: ['InstanceNormalization'],
  },
  'group normalisation between strips': {
    axis: 'rows',
    input: [1, 3, 32, 24],
    nodes: [
      node('Conv', ['x', 'w0'], 'a', padded),
      node('Reshape', ['a', 'groups'], 'g'),
      node('InstanceNormalization', ['g', 'w1', 'w2'], 'b'),
      node('Reshape', ['b', 'map'], 'c'),
      node('Conv', ['c', 'w3'], 'y', padded),
    ],
    weights: {
      w0: random([8, 3, 3, 3]),
      w1: random([2]),
      w2: random([2]),
      w3: random([8, 8, 3, 3]),
      groups: int64Tensor([1, 2, -1]),
      map: int64Tensor([1, 8, 32, 24]),
    },
    exchanging: ['InstanceNormalization'],
  },
};

function bytesOf({ input, nodes, weights, output }: Network): Uint8Array {
  const graph: Graph = {
    name: 'network',
    inputs: [{ name: 'x', dataType: 'float32', shape: input }],
    outputs: [{ name: 'y', dataType: 'float32', ...output }],
    nodes,
    initializers: new Map(Object.entries(weights)),
    values: new Map(),
  };
  return modelBytes(graph, 17);
}

/** One shard each, several on one, and all on one. */
function placementsOf(numShards: number): readonly Placement[] {
  const all = oneShardEach(numShards).flat();
  return [oneShardEach(numShards), [all.slice(1), all.slice(0, 1)], [all]];
}

describe.each([2, 3, 4])('over %d shards', (numShards) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  test.each(Object.entries(networks))('%s', async (_, network) => {
    const bytes = bytesOf(network);
    const x = randomTensor('float32', network.input, seededRandom(3));
    const expected = await wholeAnswer(backend, bytes, { x });
    const cost = { link: slowLink, devices: [referenceDevice] };
    const compiled = await compiledPlan(backend, bytes, { numShards, axis: network.axis, cost });
    const { model, division } = compiled.plan;
    const exchanging = model.graph.nodes.filter((one) => division.statistics?.has(one.name));
    expect(exchanging.map(({ opType }) => opType)).toEqual(network.exchanging);
    const { statistics, ...gathering } = division;
    const each = oneShardEach(numShards);
    const room = lower(model.graph, division, each);
    expect(room.exchangedBytes).toBeLessThan(lower(model.graph, gathering, each).exchangedBytes);
    const exchanged = new Set(room.programs.flatMap(({ receives }) => receives.map(({ value }) => value)));
    const ofStatistics = [...exchanged].flatMap((value) => /^(.*)\/statistics\d+$/.exec(value)?.[1] ?? []);
    expect(new Set(ofStatistics).size).toBe(network.together === true ? 1 : network.exchanging.length);
    const error = async (placement: Placement, shardBackend: Backend) => {
      const outputs = await roomAnswer(shardBackend, compiled, { x }, placement);
      const comparator = new Comparator();
      comparator.add(expected, outputs);
      return comparator.result().relativeError;
    };
    for (const placement of placementsOf(numShards)) {
      expect(await error(placement, backend), JSON.stringify(placement)).toBeLessThan(1e-4);
    }
    // Where the numbers of one device do not arrive, the answer is another.
    const arriving = room.programs
      .flatMap(({ receives }) => receives)
      .find(({ value }) => /\/statistics\d+$/.test(value));
    const fault = faultyArrival(backend, arriving?.dims ?? [], dropped);
    expect(await error(each, fault.faulty)).toBeGreaterThan(1e-3);
    expect(fault.fired).toBe(true);
  });
});
