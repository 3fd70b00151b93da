import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../../backends/ortHeap.ts';
import { liftOpset } from '../../../compiler/normalise/liftOpset.ts';
import { normaliseModel } from '../../../compiler/normalise/normaliseModel.ts';
import { StarlingError } from '../../../protocol/errors.ts';
import type { Backend } from '../../../runtime/backend.ts';
import { randomFeeds, randomFloats } from '../../../tests/support/random.ts';
import { relativeDifference } from '../../../tests/support/relativeDifference.ts';
import { runOnce } from '../../../tests/support/runOnce.ts';
import type { Attribute, Model, ValueInfo } from '../../graph.ts';
import { seededRandom } from '../../random.ts';
import { saveModel } from '../../save.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../tensor.ts';
import { verifyGraph } from '../../verify.ts';
import { liftRules, unchangedOperators } from './liftRules.ts';

let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

const int = (value: number): Attribute => ({ type: 'int', value });
const float = (value: number): Attribute => ({ type: 'float', value });
const ints = (...value: number[]): Attribute => ({ type: 'ints', value });
const floats = (...value: number[]): Attribute => ({ type: 'floats', value });
const string = (value: string): Attribute => ({ type: 'string', value });

interface Case {
  readonly op: string;
  readonly opset: number;
  readonly shape?: readonly number[];
  readonly attributes?: Readonly<Record<string, Attribute>>;
  /** Inputs after the first, which is the graph's float input; null is an absent one. */
  readonly constants?: readonly (Tensor | null)[];
  readonly outputs?: number;
}

/** One node of the operator between a float input and the graph's outputs. */
function modelOf({
  op,
  opset,
  shape = [2, 3, 4, 6],
  attributes = {},
  constants = [],
  outputs = 1,
}: Case): Model {
  const names = constants.map((tensor, i) => (tensor === null ? '' : `k${i}`));
  const results = Array.from({ length: outputs }, (_, i) => `y${i}`);
  return {
    irVersion: 8,
    opsets: new Map([['', opset]]),
    producer: '',
    metadata: new Map(),
    graph: {
      name: 'one node',
      inputs: [{ name: 'x', dataType: 'float32', shape }],
      outputs: results.map((name): ValueInfo => ({ name, dataType: 'float32', untyped: true })),
      nodes: [
        {
          name: 'node',
          opType: op,
          domain: '',
          inputs: ['x', ...names],
          outputs: results,
          attributes: new Map(Object.entries(attributes)),
        },
      ],
      initializers: new Map(
        constants.flatMap((tensor, i) => (tensor === null ? [] : [[`k${i}`, tensor] as const])),
      ),
      values: new Map(),
    },
  };
}

function withoutKey<T>(record: Readonly<Record<string, T>>, key: string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));
}

const random = seededRandom(21);
const floatsOf = (...dims: number[]) => randomFloats(random, dims);
const positive = (...dims: number[]) => randomFloats(random, dims, 0.2, 2);
const scalar = (value: number) => float32Tensor([], [value]);
const boxes = float32Tensor([2, 4], [0, 0, 4, 3, 1, 1, 5, 4]);
const reductions = ['Max', 'Min', 'Mean', 'Prod', 'L1', 'L2', 'LogSumExp', 'SumSquare'] as const;

/** What opset 17 has no attribute for. */
const resizes: readonly Case[] = [
  { mode: string('linear') },
  { mode: string('cubic') },
  { mode: string('cubic'), cubic_coeff_a: float(-0.5), exclude_outside: int(1) },
  { mode: string('linear'), coordinate_transformation_mode: string('align_corners') },
  { mode: string('linear'), coordinate_transformation_mode: string('asymmetric') },
].flatMap((attributes): Case[] =>
  [
    [null, float32Tensor([4], [1, 1, 0.4, 0.55])],
    [null, float32Tensor([4], [1, 1, 0.6, 2])],
    [null, null, int64Tensor([2, 3, 3, 5])],
    [null, null, int64Tensor([2, 3, 12, 5])],
  ].map((constants) => ({ op: 'Resize', opset: 18, shape: [2, 3, 9, 11], attributes: { ...attributes, antialias: int(1) }, constants })),
); // biome-ignore format: a table

const cases: readonly Case[] = [
  ...[7, 11, 12].flatMap((opset): Case[] => [
    { op: 'Squeeze', opset, shape: [2, 1, 3, 1], attributes: { axes: ints(1, 3) } },
    { op: 'Squeeze', opset, shape: [2, 1, 3, 1] },
    { op: 'Unsqueeze', opset, attributes: { axes: ints(0, 3) } },
    { op: 'ReduceSum', opset, attributes: { axes: ints(1, 2), keepdims: int(0) } },
    { op: 'ReduceSum', opset },
    { op: 'Split', opset, attributes: { axis: int(3), split: ints(1, 5) }, outputs: 2 },
    { op: 'Split', opset, attributes: { axis: int(1) }, outputs: 3 },
    ...[0, 1, 2, 3].flatMap((axis): Case[] => [
      { op: 'Softmax', opset, attributes: { axis: int(axis) } },
      { op: 'LogSoftmax', opset, attributes: { axis: int(axis) } },
      { op: 'Hardmax', opset, attributes: { axis: int(axis) } },
    ]),
    { op: 'Softmax', opset },
    { op: 'Softmax', opset, shape: [2, 5, 1, 1] },
    { op: 'Softmax', opset, shape: [4, 5] },
    { op: 'Dropout', opset, attributes: opset < 12 ? { ratio: float(0.4) } : {} },
    {
      op: 'BatchNormalization',
      opset,
      constants: [positive(3), floatsOf(3), floatsOf(3), positive(3)],
      attributes: { epsilon: float(1e-3), ...(opset < 9 ? { spatial: int(1) } : {}) },
    },
  ]),
  ...[7, 10].flatMap((opset): Case[] => [
    { op: 'Clip', opset, attributes: { min: float(-0.3), max: float(0.5) } },
    { op: 'Clip', opset, attributes: { max: float(0.1) } },
    { op: 'Clip', opset },
    { op: 'Pad', opset, attributes: { pads: ints(0, 1, 2, 0, 0, 0, 1, 3), value: float(0.7) } },
    { op: 'Pad', opset, attributes: { pads: ints(0, 0, 2, 1, 0, 0, 1, 3), mode: string('reflect') } },
    { op: 'Pad', opset, attributes: { pads: ints(0, 0, 2, 1, 0, 0, 1, 3), mode: string('edge') } },
  ]),
  { op: 'Slice', opset: 9, attributes: { starts: ints(1, -3), ends: ints(2 ** 63, -1), axes: ints(2, 3) } },
  { op: 'Slice', opset: 7, attributes: { starts: ints(0, 1), ends: ints(1, 3) } },
  { op: 'TopK', opset: 9, attributes: { k: int(2), axis: int(3) }, outputs: 2 },
  ...['nearest', 'linear'].flatMap((mode): Case[] => [
    { op: 'Upsample', opset: 7, attributes: { mode: string(mode), scales: floats(1, 1, 2, 3) } },
    { op: 'Upsample', opset: 8, attributes: { mode: string(mode), scales: floats(1, 1, 1.5, 2.7) } },
    {
      op: 'Upsample',
      opset: 9,
      attributes: { mode: string(mode) },
      constants: [float32Tensor([4], [1, 1, 2, 1.3])],
    },
    {
      op: 'Resize',
      opset: 10,
      attributes: { mode: string(mode) },
      constants: [float32Tensor([4], [1, 1, 2.5, 2])],
    },
    {
      op: 'Resize',
      opset: 10,
      attributes: { mode: string(mode) },
      constants: [float32Tensor([4], [1, 1, 0.6, 0.5])],
    },
  ]),
  ...['half_pixel', 'align_corners', 'asymmetric', 'pytorch_half_pixel'].flatMap((coordinates): Case[] =>
    ['nearest', 'linear', 'cubic'].map((mode) => ({
      op: 'Resize',
      opset: 11,
      attributes: { mode: string(mode), coordinate_transformation_mode: string(coordinates) },
      constants: [float32Tensor([0], []), float32Tensor([4], [1, 1, 2.5, 1.5])],
    })),
  ),
  {
    op: 'RoiAlign',
    opset: 10,
    attributes: { output_height: int(2), output_width: int(3), sampling_ratio: int(2) },
    constants: [boxes, int64Tensor([0, 1])],
  },
  {
    op: 'Scatter',
    opset: 9,
    attributes: { axis: int(1) },
    constants: [int64Tensor([0, 2], [1, 1, 1, 2]), floatsOf(1, 1, 1, 2)],
  },
  // From above.
  ...[18, 20].flatMap((opset): Case[] =>
    reductions.flatMap((name): Case[] => [
      { op: `Reduce${name}`, opset, constants: [int64Tensor([-1, 1])], attributes: { keepdims: int(0) } },
      { op: `Reduce${name}`, opset, shape: [2, 3, 4] },
    ]),
  ),
  { op: 'ReduceMean', opset: 18, attributes: { noop_with_empty_axes: int(1) } },
  { op: 'Split', opset: 18, shape: [2, 7], attributes: { axis: int(-1), num_outputs: int(4) }, outputs: 4 },
  { op: 'Split', opset: 18, attributes: { axis: int(1) }, constants: [int64Tensor([1, 2])], outputs: 2 },
  { op: 'Pad', opset: 18, constants: [int64Tensor([1, 2, 3, 0]), scalar(0.3), int64Tensor([-1, 1])] },
  {
    op: 'Pad',
    opset: 19,
    constants: [int64Tensor([1, 2]), null, int64Tensor([2])],
    attributes: { mode: string('edge') },
  },
  {
    op: 'Resize',
    opset: 18,
    constants: [null, float32Tensor([2], [2, 1.5])],
    attributes: { axes: ints(3, -2), mode: string('linear') },
  },
  { op: 'Resize', opset: 19, constants: [null, null, int64Tensor([7, 5])], attributes: { axes: ints(2, 3) } },
  ...resizes,
  {
    op: 'Resize',
    opset: 18,
    shape: [1, 2, 5, 6, 7],
    constants: [null, null, int64Tensor([3, 4, 9])],
    attributes: { mode: string('linear'), antialias: int(1), axes: ints(2, 3, -1) },
  },
  ...['linear', 'cubic', 'nearest'].map(
    (mode): Case => ({
      op: 'Resize',
      opset: 19,
      shape: [2, 3, 9, 11],
      constants: [null, float32Tensor([4], [1, 1, 0.6, 1.7])],
      attributes: { mode: string(mode), coordinate_transformation_mode: string('half_pixel_symmetric') },
    }),
  ),
  ...['not_larger', 'not_smaller'].map(
    (policy): Case => ({
      op: 'Resize',
      opset: 18,
      shape: [2, 3, 9, 12],
      constants: [null, null, int64Tensor([6, 16])],
      attributes: { axes: ints(2, 3), mode: string('linear'), keep_aspect_ratio_policy: string(policy) },
    }),
  ),
  {
    op: 'MaxPool',
    opset: 12,
    shape: [1, 2, 7, 9],
    attributes: { kernel_shape: ints(2, 3), dilations: ints(2, 3), auto_pad: string('SAME_LOWER') },
  },
  { op: 'GridSample', opset: 20, constants: [floatsOf(2, 5, 4, 2)], attributes: { mode: string('linear') } },
  { op: 'GridSample', opset: 20, constants: [floatsOf(2, 5, 4, 2)], attributes: { mode: string('cubic') } },
  {
    op: 'AveragePool',
    opset: 19,
    attributes: { kernel_shape: ints(2, 2), dilations: ints(1, 1), ceil_mode: int(1) },
  },
  ...[
    { kernel_shape: ints(2, 2), dilations: ints(2, 2) },
    { kernel_shape: ints(2, 3), dilations: ints(2, 1), pads: ints(1, 1, 1, 1) },
    { kernel_shape: ints(2, 2), dilations: ints(1, 3), pads: ints(1, 0, 0, 1), count_include_pad: int(1) },
    {
      kernel_shape: ints(2, 2),
      dilations: ints(2, 2),
      pads: ints(1, 1, 1, 1),
      strides: ints(2, 3),
      ceil_mode: int(1),
    },
    {
      kernel_shape: ints(2, 2),
      dilations: ints(2, 2),
      pads: ints(1, 1, 1, 1),
      strides: ints(2, 3),
      ceil_mode: int(1),
      count_include_pad: int(1),
    },
    { kernel_shape: ints(3, 2), dilations: ints(1, 2), auto_pad: string('SAME_UPPER'), strides: ints(2, 2) },
    { kernel_shape: ints(3, 2), dilations: ints(1, 2), auto_pad: string('SAME_LOWER'), strides: ints(2, 2) },
    { kernel_shape: ints(3, 2), dilations: ints(1, 2), auto_pad: string('VALID') },
  ].flatMap((attributes): Case[] => [
    { op: 'AveragePool', opset: 19, attributes: attributes },
    { op: 'AveragePool', opset: 22, shape: [1, 2, 7, 9], attributes: attributes },
    { op: 'LpPool', opset: 18, shape: [1, 2, 7, 9], attributes: withoutKey(attributes, 'count_include_pad') },
    {
      op: 'LpPool',
      opset: 22,
      shape: [2, 3, 7, 9],
      attributes: { ...withoutKey(attributes, 'count_include_pad'), p: int(3) },
    },
  ]),
  { op: 'LpPool', opset: 18, attributes: { kernel_shape: ints(2, 2), dilations: ints(2, 1), p: int(1) } },
  ...[
    int64Tensor([0, 0, 1, 2, 0, 0, 2, 1]),
    int64Tensor([0, 0, 4, 5, 0, 0, 0, 6]),
    int64Tensor([1, 0, -1, 0, 0, 1, 2, -2]),
  ].map((pads): Case => ({ op: 'Pad', opset: 19, constants: [pads], attributes: { mode: string('wrap') } })),
  {
    op: 'Pad',
    opset: 21,
    constants: [int64Tensor([2, 1]), null, int64Tensor([-1])],
    attributes: { mode: string('wrap') },
  },
  {
    op: 'SimplifiedLayerNormalization',
    opset: 17,
    constants: [positive(6)],
    attributes: { epsilon: float(1e-3) },
  },
  {
    op: 'SimplifiedLayerNormalization',
    opset: 14,
    constants: [positive(4, 6)],
    attributes: { axis: int(2) },
  },
  { op: 'Cast', opset: 19, attributes: { to: int(11), saturate: int(1) } },
  { op: 'CastLike', opset: 19, constants: [int64Tensor([0])], attributes: { saturate: int(1) } },
  {
    op: 'QuantizeLinear',
    opset: 21,
    constants: [scalar(0.01), { dataType: 'uint8', dims: [], data: Uint8Array.of(120) }],
    attributes: { saturate: int(1), block_size: int(0) },
  },
  { op: 'QuantizeLinear', opset: 21, constants: [scalar(0.01)], attributes: { output_dtype: int(3) } },
  { op: 'QuantizeLinear', opset: 21, constants: [scalar(0.01)], attributes: { output_dtype: int(2) } },
  {
    op: 'ScatterElements',
    opset: 18,
    attributes: { axis: int(1), reduction: string('add') },
    constants: [int64Tensor([0, 2], [1, 1, 1, 2]), floatsOf(1, 1, 1, 2)],
  },
  { op: 'Mish', opset: 18 },
  { op: 'Gelu', opset: 20 },
  { op: 'Gelu', opset: 20, attributes: { approximate: string('tanh') } },
  { op: 'Swish', opset: 24, attributes: { alpha: float(1.3) } },
  { op: 'Swish', opset: 24 },
  {
    op: 'RMSNormalization',
    opset: 23,
    constants: [positive(4, 6)],
    attributes: { axis: int(-2), epsilon: float(1e-3) },
  },
  { op: 'RMSNormalization', opset: 23, constants: [positive(6)] },
  {
    op: 'GroupNormalization',
    opset: 21,
    shape: [2, 6, 4, 3],
    constants: [positive(6), floatsOf(6)],
    attributes: { num_groups: int(3) },
  },
  {
    op: 'GroupNormalization',
    opset: 18,
    shape: [2, 6, 4, 3],
    constants: [positive(2), floatsOf(2)],
    attributes: { num_groups: int(2), epsilon: float(1e-2) },
  },
  { op: 'ScatterND', opset: 18, shape: [4, 3], constants: [int64Tensor([1, 3], [2, 1]), floatsOf(2, 3)] },
  { op: 'LpPool', opset: 18, attributes: { kernel_shape: ints(2, 2), p: int(3) } },
];

/** Queries are the graph's input; keys, values and masks are constants. */
const attentions: readonly Omit<Case, 'op' | 'opset'>[] = [
  { shape: [2, 4, 5, 6], constants: [floatsOf(2, 4, 7, 6), floatsOf(2, 4, 7, 3)] },
  { shape: [2, 4, 5, 6], constants: [floatsOf(2, 2, 7, 6), floatsOf(2, 2, 7, 3)], attributes: { scale: float(0.3) } },
  { shape: [2, 5, 24], constants: [floatsOf(2, 7, 12), floatsOf(2, 7, 6)], attributes: { q_num_heads: int(4), kv_num_heads: int(2) } },
  { shape: [1, 2, 5, 6], constants: [floatsOf(1, 2, 5, 6), floatsOf(1, 2, 5, 6)], attributes: { is_causal: int(1) } },
  { shape: [1, 2, 5, 6], constants: [floatsOf(1, 2, 7, 6), floatsOf(1, 2, 7, 6), floatsOf(5, 7)] },
  { shape: [1, 2, 5, 6], constants: [floatsOf(1, 2, 7, 6), floatsOf(1, 2, 7, 6)], attributes: { softcap: float(0.7) } },
  { shape: [1, 2, 2, 6], constants: [floatsOf(1, 2, 3, 6), floatsOf(1, 2, 3, 6), { dataType: 'bool', dims: [2, 3], data: Uint8Array.of(1, 0, 1, 1, 1, 0) }] },
]; // biome-ignore format: a table

const rotations: readonly Omit<Case, 'op' | 'opset'>[] = [
  { shape: [2, 3, 4, 8], constants: [floatsOf(9, 4), floatsOf(9, 4), int64Tensor([0, 1, 2, 3, 5, 6, 7, 8], [2, 4])] },
  { shape: [2, 3, 4, 8], constants: [floatsOf(2, 4, 4), floatsOf(2, 4, 4)], attributes: { interleaved: int(1) } },
  { shape: [2, 4, 24], constants: [floatsOf(9, 4), floatsOf(9, 4), int64Tensor([0, 1, 2, 3, 5, 6, 7, 8], [2, 4])], attributes: { num_heads: int(3) } },
  { shape: [2, 3, 4, 8], constants: [floatsOf(2, 4, 2), floatsOf(2, 4, 2)], attributes: { rotary_embedding_dim: int(4), interleaved: int(1) } },
  { shape: [2, 4, 24], constants: [floatsOf(2, 4, 2), floatsOf(2, 4, 2)], attributes: { rotary_embedding_dim: int(4), num_heads: int(3) } },
]; // biome-ignore format: a table

const ofTransformers: readonly Case[] = [
  ...attentions.map((one) => ({ op: 'Attention', opset: 23, ...one })),
  ...rotations.map((one) => ({ op: 'RotaryEmbedding', opset: 23, ...one })),
];

const title = ({ op, opset, attributes = {} }: Case) =>
  `${op} of opset ${opset} ${Object.entries(attributes)
    .map(([name, { value }]) => `${name}=${String(value)}`)
    .join(' ')}`;

describe('lifted to opset 17', () => {
  it.each([...cases, ...ofTransformers].map((one) => [title(one), one] as const))(
    '%s computes the same',
    async (_, one) => {
      const original = modelOf(one);
      const { model } = await normaliseModel(original, { backend });
      expect(model.opsets.get('')).toBe(17);
      const feeds = randomFeeds(original.graph.inputs, 4);
      const expected = await runOnce(backend, saveModel(original).bytes, feeds);
      const actual = await runOnce(backend, saveModel(model).bytes, feeds);
      expect(relativeDifference(actual, expected)).toBeLessThan(2e-6);
    },
  );

  it('flattens a softmax where the shape is not known', async () => {
    const original = modelOf({ op: 'Softmax', opset: 11, attributes: { axis: int(2) } });
    const { graph } = original;
    const blind = {
      ...original,
      graph: { ...graph, inputs: graph.inputs.map(({ shape: _, ...rest }) => rest) },
    };
    const lifted = await liftOpset(blind, { backend, shapes: {} });
    verifyGraph(lifted.graph);
    expect(lifted.graph.nodes.map((node) => node.opType)).toEqual(['Flatten', 'Softmax', 'Shape', 'Reshape']);
    const feeds = randomFeeds(graph.inputs, 4);
    const expected = await runOnce(backend, saveModel(original).bytes, feeds);
    expect(relativeDifference(await runOnce(backend, saveModel(lifted).bytes, feeds), expected)).toBeLessThan(
      2e-6,
    );
  });

  const refused: readonly (readonly [Case, RegExp])[] = [
    [{ op: 'BatchNormalization', opset: 8, attributes: { spatial: int(0) } }, /every position/],
    [{ op: 'Dropout', opset: 10, outputs: 2 }, /mask/],
    [{ op: 'Upsample', opset: 8, attributes: { scales: floats(1, 1, 2, 0.5) } }, /shrinks/],
    [{ op: 'Scan', opset: 8 }, /Scan/],
    [{ op: 'Resize', opset: 18, attributes: { antialias: int(1) } }, /antialiased/],
    [{ op: 'ScatterND', opset: 18, attributes: { reduction: string('max') } }, /max/],
    [{ op: 'Attention', opset: 23, constants: [null, null, null, floatsOf(1)] }, /keeps keys/],
    [{ op: 'TensorScatter', opset: 24 }, /no rule/],
    [{ op: 'Unheard', opset: 13 }, /no rule/],
  ];
  it.each(refused.map(([one, reason]) => [title(one), one, reason] as const))(
    '%s is refused',
    (_, one, reason) => {
      const act = () => liftOpset(modelOf(one), { backend, shapes: {} });
      expect(act).toThrow(StarlingError);
      expect(act).toThrow(reason);
      expect(act).toThrow(/"node"/);
    },
  );

  it('has every operator in one of the two lists only, and a test for nearly every rule', () => {
    const tested = new Set([...cases, ...ofTransformers, ...refused.map(([one]) => one)].map(({ op }) => op));
    for (const op of liftRules.keys()) {
      expect(unchangedOperators.has(op), op).toBe(false);
      if (op !== 'DequantizeLinear' && op !== 'ReduceLogSum') {
        expect(tested.has(op), op).toBe(true);
      }
    }
  });
});
