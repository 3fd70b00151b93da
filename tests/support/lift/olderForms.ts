/** Nodes of opsets before 17 that change on the way to it. */
import type { Attribute } from '../../../graph/graph.ts';
import { float32Tensor, int64Tensor } from '../../../graph/tensor.ts';
import { float, int, ints, text as string } from '../operatorCase.ts';
import { boxes, type Case, floatsOf, positive } from './liftCase.ts';

const floats = (...value: number[]): Attribute => ({ type: 'floats', value });

export const olderForms: readonly Case[] = [
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
];
