import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Attribute, Graph } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import { normaliseModel } from '../normalise/normaliseModel.ts';
import { findContractions, findFitted, withBias, withWeights } from './contractions.ts';
import { gatherChannels, positionsPerSample, rowGatherer, rowWidth, samplePositions } from './patches.ts';
import { openPrefix } from './prefix.ts';

const backend = await createHeapBackend();

interface Case {
  readonly opType: string;
  readonly input: readonly number[];
  readonly weight: readonly number[];
  readonly bias?: readonly number[];
  readonly attributes?: Readonly<Record<string, Attribute>>;
}

const ints = (...value: number[]): Attribute => ({ type: 'ints', value });
const cases: Readonly<Record<string, Case>> = {
  'a padded convolution': {
    opType: 'Conv',
    input: [2, 3, 5, 6],
    weight: [4, 3, 3, 3],
    bias: [4],
    attributes: { pads: ints(1, 1, 1, 1) },
  },
  'strides and uneven padding': {
    opType: 'Conv',
    input: [2, 3, 7, 8],
    weight: [4, 3, 3, 2],
    attributes: { pads: ints(0, 1, 2, 0), strides: ints(2, 3) },
  },
  dilations: {
    opType: 'Conv',
    input: [1, 2, 9, 9],
    weight: [3, 2, 3, 3],
    bias: [3],
    attributes: { dilations: ints(2, 3), pads: ints(2, 1, 0, 3) },
  },
  'automatic padding': {
    opType: 'Conv',
    input: [1, 2, 5, 6],
    weight: [3, 2, 2, 3],
    attributes: { strides: ints(2, 1), auto_pad: { type: 'string', value: 'SAME_UPPER' } },
  },
  'a depthwise convolution': {
    opType: 'Conv',
    input: [2, 4, 6, 5],
    weight: [4, 1, 3, 3],
    attributes: { group: { type: 'int', value: 4 }, pads: ints(1, 1, 1, 1), strides: ints(2, 1) },
  },
  'one spatial axis': { opType: 'Conv', input: [2, 3, 9], weight: [4, 3, 4], bias: [4] },
  'a product with a bias': { opType: 'Gemm', input: [3, 6], weight: [6, 4], bias: [4] },
  'a product with the second operand transposed': {
    opType: 'Gemm',
    input: [3, 6],
    weight: [4, 6],
    attributes: { transB: { type: 'int', value: 1 } },
  },
  'tokens times a matrix': { opType: 'MatMul', input: [2, 5, 6], weight: [6, 4] },
};

async function contractionOf({ opType, input, weight, bias, attributes = {} }: Case, seed: number) {
  const random = seededRandom(seed);
  const initializers = new Map<string, Tensor>([['w', randomTensor('float32', weight, random)]]);
  if (bias !== undefined) initializers.set('b', randomTensor('float32', bias, random));
  const graph: Graph = {
    name: 'one',
    inputs: [{ name: 'x', dataType: 'float32', shape: input }],
    outputs: [{ name: 'y', dataType: 'float32', untyped: true }],
    nodes: [
      {
        name: 'node',
        opType,
        domain: '',
        inputs: ['x', ...initializers.keys()],
        outputs: ['y'],
        attributes: new Map(Object.entries(attributes)),
      },
    ],
    initializers,
    values: new Map(),
  };
  const { model } = await normaliseModel(
    { irVersion: 8, opsets: new Map([['', 17]]), producer: '', metadata: new Map(), graph },
    { backend },
  );
  const [contraction] = findFitted(model.graph);
  if (contraction === undefined) throw new Error('No contraction was found.');
  return { model, contraction, x: randomTensor('float32', input, random) };
}

test.each(Object.entries(cases))('rows times weights are the output: %s', async (_, example) => {
  const { model, contraction, x } = await contractionOf(example, 7);
  const prefix = await openPrefix(model, ['y'], backend);
  const y = (await prefix.run({ x })).get('y');
  await prefix.release();
  if (y === undefined) throw new Error('No output.');
  const width = rowWidth(contraction);
  const weights = withBias(model.graph, contraction);
  // Positions of all samples together; a product's samples are rows of its first axis.
  const samples = (y.dims[0] ?? 1) / (contraction.view.outputShape[0] ?? 1);
  const positions = samplePositions(positionsPerSample(contraction) * samples, 9, seededRandom(2));
  const rows = rowGatherer(contraction)({ dims: x.dims, data: float32View(x) }, positions);
  const expected = gatherChannels(y, contraction.outputAxis, positions);
  const outputs = contraction.outputChannels;
  expect(expected).toHaveLength(positions.length * outputs);
  for (const [i, value] of expected.entries()) {
    const row = rows.subarray(Math.floor(i / outputs) * width, (Math.floor(i / outputs) + 1) * width);
    const sum = row.reduce(
      (total, element, k) => total + element * (weights[(i % outputs) * width + k] ?? 0),
      0,
    );
    expect(sum).toBeCloseTo(value, 4);
  }
});

test('weights that are read and written back are the same; a missing bias is added', async () => {
  for (const example of Object.values(cases)) {
    const { model, contraction, x } = await contractionOf(example, 3);
    const width = rowWidth(contraction);
    const all = withBias(model.graph, contraction);
    const weights = new Float64Array(contraction.outputChannels * (width - 1));
    const bias = new Float64Array(contraction.outputChannels);
    for (let o = 0; o < bias.length; o++) {
      weights.set(all.subarray(o * width, (o + 1) * width - 1), o * (width - 1));
      bias[o] = (all[(o + 1) * width - 1] ?? 0) + (example.opType === 'MatMul' ? 0 : 1);
    }
    const graph = withWeights(model.graph, contraction, weights, bias);
    const outputs = async (of: typeof graph) => {
      const prefix = await openPrefix({ ...model, graph: of }, ['y'], backend);
      const y = (await prefix.run({ x })).get('y')?.data ?? new Float32Array(0);
      await prefix.release();
      return y;
    };
    const [before, after] = [await outputs(model.graph), await outputs(graph)];
    for (const [i, value] of before.entries())
      expect(after[i]).toBeCloseTo(value + (example.opType === 'MatMul' ? 0 : 1), 4);
  }
});

test('positions are spread over all there are', () => {
  const positions = [...samplePositions(1000, 100, seededRandom(1))];
  expect(new Set(positions).size).toBe(100);
  expect(positions.map((position) => Math.floor(position / 10))).toEqual(positions.map((_, i) => i));
  expect([...samplePositions(5, 9, seededRandom(1))]).toEqual([0, 1, 2, 3, 4]);
});

test('of grouped convolutions a depthwise one can be fitted, and none thinned', async () => {
  const { contraction, model } = await contractionOf(
    { opType: 'Conv', input: [1, 4, 5, 5], weight: [4, 4, 1, 1] },
    1,
  );
  expect(contraction.taps).toBe(1);
  const grouped = (groups: number) => ({
    ...model.graph,
    nodes: model.graph.nodes.map((node) => ({
      ...node,
      attributes: new Map<string, Attribute>([['group', { type: 'int', value: groups }]]),
    })),
    initializers: new Map([['w', float32Tensor([4, 4 / groups, 1, 1], new Float32Array(16 / groups))]]),
  });
  for (const groups of [2, 4]) expect(findContractions(grouped(groups))).toEqual([]);
  expect(findFitted(grouped(2))).toEqual([]);
  expect(findFitted(grouped(4)).map(({ depthwise, inputChannels }) => [depthwise, inputChannels])).toEqual([
    [true, 4],
  ]);
});
