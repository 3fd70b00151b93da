/** Nodes of opsets after 17 in what that has no form for. */
import { float32Tensor, int64Tensor } from '../../../graph/tensor.ts';
import { float, int, ints, text as string } from '../operatorCase.ts';
import { type Case, floatsOf, positive, reductions, scalar, withoutKey } from './liftCase.ts';

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

export const newerForms: readonly Case[] = [
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
