/** The forms in which files hold convolutions, pools and resizing: attributes, weights and the opsets that have them. */
import type { Attribute } from '../../graph/graph.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import { float, int, ints, roundings, text, transformations } from './operatorCase.ts';

export interface Form {
  readonly op: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
  readonly weight?: readonly number[];
  readonly bias?: true;
  /** Number of spatial axes; 2 without it. */
  readonly spatial?: 1 | 2 | 3;
  /** Opsets that have it; all without them. */
  readonly from?: number;
  /** onnxruntime has no kernel for it from there on. */
  readonly below?: number;
  /** Quantised: scales of the weight for each output channel. */
  readonly perChannel?: true;
  /** Constants after the first input; null is an absent one. */
  readonly operands?: readonly (Tensor | null)[];
}

const floats = (...value: number[]): Attribute => ({ type: 'floats', value });
const kernel = (...value: number[]) => ({ kernel_shape: ints(...value) });
const same = (upper: boolean) => ({ auto_pad: text(upper ? 'SAME_UPPER' : 'SAME_LOWER') });
const valid = { auto_pad: text('VALID') };
const strides = (...value: number[]) => ({ strides: ints(...value) });
const pads = (...value: number[]) => ({ pads: ints(...value) });
const dilations = (...value: number[]) => ({ dilations: ints(...value) });
const group = (value: number) => ({ group: int(value) });

const convolutions: readonly Form[] = [
  { op: 'Conv', weight: [6, 8, 3, 3], bias: true, attributes: { ...kernel(3, 3), ...pads(1, 1, 1, 1) } },
  { op: 'Conv', weight: [6, 8, 3, 3] },
  { op: 'Conv', weight: [6, 8, 1, 1], attributes: strides(2, 2) },
  { op: 'Conv', weight: [6, 8, 1, 5], bias: true, attributes: pads(0, 2, 0, 2) },
  { op: 'Conv', weight: [6, 8, 12, 1] },
  { op: 'Conv', weight: [6, 8, 7, 7], attributes: pads(3, 3, 3, 3) },
  { op: 'Conv', weight: [6, 8, 3, 3], attributes: { ...pads(0, 1, 2, 3), ...strides(2, 1) } },
  { op: 'Conv', weight: [6, 8, 2, 2], attributes: strides(3, 3) },
  { op: 'Conv', weight: [6, 8, 3, 3], bias: true, attributes: { ...same(true), ...strides(2, 2) } },
  { op: 'Conv', weight: [6, 8, 3, 3], attributes: { ...same(false), ...strides(2, 3) } },
  { op: 'Conv', weight: [6, 8, 2, 4], attributes: same(true) },
  { op: 'Conv', weight: [6, 8, 4, 2], attributes: same(false) },
  { op: 'Conv', weight: [6, 8, 3, 3], attributes: { ...valid, ...strides(2, 2) } },
  { op: 'Conv', weight: [6, 8, 3, 3], attributes: { ...dilations(2, 3), ...pads(2, 3, 2, 3) } },
  { op: 'Conv', weight: [6, 4, 3, 3], attributes: { ...group(2), ...pads(1, 1, 1, 1) } },
  { op: 'Conv', weight: [8, 1, 3, 3], bias: true, attributes: { ...group(8), ...pads(1, 1, 1, 1) } },
  { op: 'Conv', weight: [16, 1, 3, 3], attributes: { ...group(8), ...strides(2, 2), ...dilations(2, 2), ...pads(2, 2, 2, 2) } },
  { op: 'Conv', spatial: 1, weight: [6, 8, 3], bias: true, attributes: pads(1, 1) },
  { op: 'Conv', spatial: 1, weight: [12, 2, 5], attributes: { ...group(4), ...dilations(2), ...strides(2) } },
  { op: 'Conv', spatial: 1, weight: [6, 8, 4], attributes: { ...same(true), ...strides(3) } },
  { op: 'Conv', spatial: 3, weight: [6, 8, 3, 3, 3], bias: true, attributes: pads(1, 1, 1, 1, 1, 1) },
  { op: 'Conv', spatial: 3, weight: [6, 4, 2, 3, 1], attributes: { ...group(2), ...strides(1, 2, 2) } },
  { op: 'ConvTranspose', weight: [8, 6, 3, 3], bias: true, attributes: { ...kernel(3, 3), ...strides(2, 2) } },
  { op: 'ConvTranspose', weight: [8, 6, 3, 3], attributes: { ...strides(2, 2), ...pads(1, 1, 1, 1), output_padding: ints(1, 1) } },
  { op: 'ConvTranspose', weight: [8, 6, 3, 3], attributes: { ...strides(2, 2), output_shape: ints(24, 20) } },
  { op: 'ConvTranspose', weight: [8, 6, 3, 3], attributes: { ...strides(2, 2), ...same(true) } },
  { op: 'ConvTranspose', weight: [8, 6, 3, 3], attributes: { ...strides(2, 2), ...same(false) } },
  { op: 'ConvTranspose', weight: [8, 6, 2, 2], attributes: { ...strides(3, 3), ...valid } },
  { op: 'ConvTranspose', weight: [8, 6, 3, 3], attributes: { ...dilations(2, 2), ...pads(0, 1, 2, 1) } },
  { op: 'ConvTranspose', weight: [8, 6, 3, 2], attributes: { ...dilations(2, 2), ...strides(2, 3), ...same(true) } },
  { op: 'ConvTranspose', weight: [8, 6, 2, 3], attributes: { ...dilations(2, 3), ...strides(2, 2), ...same(false) } },
  { op: 'ConvTranspose', weight: [8, 3, 4, 4], bias: true, attributes: { ...group(2), ...strides(2, 2), ...pads(1, 1, 1, 1) } },
  { op: 'ConvTranspose', weight: [8, 1, 2, 2], attributes: { ...group(8), ...strides(2, 2) } },
  { op: 'ConvTranspose', spatial: 1, weight: [8, 6, 4], bias: true, attributes: { ...strides(2), ...pads(1, 1) } },
  { op: 'ConvTranspose', spatial: 3, weight: [8, 6, 2, 2, 2], attributes: strides(2, 2, 2) },
]; // biome-ignore format: a table

const square = { ...kernel(3, 3), ...strides(2, 2) };

const pools: readonly Form[] = [
  { op: 'MaxPool', attributes: { ...square, ...pads(1, 1, 1, 1) } },
  { op: 'MaxPool', attributes: { ...square, ...same(true) } },
  { op: 'MaxPool', attributes: { ...kernel(2, 2), ...same(false) } },
  { op: 'MaxPool', attributes: { ...square, ...valid } },
  { op: 'MaxPool', attributes: kernel(5, 1) },
  { op: 'MaxPool', spatial: 1, attributes: { ...kernel(3), ...strides(2) } },
  { op: 'MaxPool', spatial: 3, attributes: { ...kernel(2, 2, 2), ...strides(2, 2, 2) } },
  { op: 'MaxPool', from: 8, attributes: { ...square, storage_order: int(1) } },
  { op: 'MaxPool', from: 10, attributes: { ...square, ceil_mode: int(1) } },
  { op: 'MaxPool', from: 10, attributes: { ...kernel(3, 3), ...dilations(2, 2), ...pads(2, 2, 2, 2) } },
  { op: 'MaxPool', from: 10, attributes: { ...square, ...dilations(1, 2), ceil_mode: int(1), ...pads(1, 0, 1, 0) } },
  { op: 'MaxPool', from: 10, attributes: { ...kernel(3, 2), ...dilations(2, 2), ...same(true) } },
  { op: 'MaxPool', from: 10, attributes: { ...kernel(2, 3), ...dilations(2, 3), ...same(false), ...strides(2, 2) } },
  { op: 'AveragePool', from: 7, attributes: { ...square, ...pads(1, 1, 1, 1) } },
  { op: 'AveragePool', from: 7, attributes: { ...square, ...pads(1, 1, 1, 1), count_include_pad: int(1) } },
  { op: 'AveragePool', from: 7, attributes: { ...square, ...same(true) } },
  { op: 'AveragePool', from: 7, attributes: { ...kernel(2, 2), ...same(false), count_include_pad: int(1) } },
  { op: 'AveragePool', from: 7, spatial: 1, attributes: { ...kernel(4), ...strides(2), ...pads(1, 1) } },
  { op: 'AveragePool', from: 10, attributes: { ...square, ceil_mode: int(1) } },
  { op: 'AveragePool', from: 10, attributes: { ...square, ceil_mode: int(1), ...pads(1, 1, 1, 1), count_include_pad: int(1) } },
  { op: 'AveragePool', from: 7, attributes: kernel(12, 10) },
  { op: 'AveragePool', from: 19, attributes: { ...square, ...dilations(2, 1), ...pads(1, 1, 1, 1) } },
  { op: 'AveragePool', from: 19, attributes: { ...kernel(2, 3), ...dilations(3, 2), ...same(true) } },
  { op: 'LpPool', from: 18, attributes: { ...square, ...dilations(2, 2), ceil_mode: int(1), ...pads(1, 1, 1, 1) } },
  { op: 'LpPool', from: 11, attributes: { ...square, ...pads(1, 1, 1, 1) } },
  { op: 'LpPool', from: 11, attributes: { ...kernel(2, 2), ...same(true), p: int(1) } },
  { op: 'GlobalAveragePool' },
  { op: 'GlobalMaxPool' },
  { op: 'GlobalLpPool', below: 22, attributes: { p: int(1) } },
  { op: 'GlobalAveragePool', spatial: 1 },
  { op: 'LRN', attributes: { size: int(3), alpha: float(0.01) } },
]; // biome-ignore format: a table

const quantised: readonly Form[] = [
  { op: 'QLinearConv', from: 10, weight: [6, 8, 3, 3], bias: true, attributes: pads(1, 1, 1, 1) },
  { op: 'QLinearConv', from: 10, weight: [6, 8, 3, 3], perChannel: true, attributes: { ...strides(2, 2), ...same(true) } },
  { op: 'QLinearConv', from: 10, weight: [8, 1, 3, 3], perChannel: true, bias: true, attributes: { ...group(8), ...pads(1, 1, 1, 1) } },
  { op: 'QLinearConv', from: 10, weight: [6, 4, 1, 1], attributes: { ...kernel(1, 1), ...group(2) } },
  { op: 'QLinearConv', from: 10, weight: [6, 8, 3, 3], attributes: { ...dilations(2, 2), ...pads(1, 2, 1, 2) } },
  { op: 'ConvInteger', from: 10, weight: [6, 8, 3, 3], attributes: pads(1, 1, 1, 1) },
]; // biome-ignore format: a table

const scales = float32Tensor([4], [1, 1, 2, 1.5]);
// Until opset 13 absent ones had to be there, empty.
const [noBox, noScales] = [float32Tensor([0], []), float32Tensor([0], [])];
const sizes = int64Tensor([1, 8, 17, 7]);

const resizes: readonly Form[] = [
  ...['nearest', 'linear'].flatMap((mode): Form[] => [
    { op: 'Upsample', from: 7, below: 9, attributes: { mode: text(mode), scales: floats(1, 1, 2, 3) } },
    { op: 'Upsample', from: 9, below: 10, attributes: { mode: text(mode) }, operands: [float32Tensor([4], [1, 1, 2, 3])] },
    { op: 'Resize', from: 10, below: 11, attributes: { mode: text(mode) }, operands: [scales] },
  ]),
  ...['linear', 'cubic'].flatMap((mode) =>
    transformations.flatMap((name): Form[] =>
      [[noBox, scales], [noBox, noScales, sizes]].map((operands) => ({
        op: 'Resize',
        from: 11,
        attributes: { mode: text(mode), coordinate_transformation_mode: text(name) },
        operands,
      })),
    ),
  ),
  ...transformations.flatMap((name) =>
    roundings.map((rounding): Form => ({
      op: 'Resize',
      from: 11,
      attributes: { mode: text('nearest'), coordinate_transformation_mode: text(name), nearest_mode: text(rounding) },
      operands: [noBox, scales],
    })),
  ),
  { op: 'Resize', from: 11, attributes: { mode: text('linear'), coordinate_transformation_mode: text('tf_crop_and_resize') }, operands: [float32Tensor([8], [0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9]), scales] },
  { op: 'Resize', from: 11, attributes: { mode: text('cubic'), exclude_outside: int(1), cubic_coeff_a: float(-0.5) }, operands: [noBox, scales] },
  ...['linear', 'cubic'].map((mode): Form => ({ op: 'Resize', from: 18, attributes: { mode: text(mode), antialias: int(1) }, operands: [null, float32Tensor([4], [1, 1, 0.6, 0.45])] })),
  { op: 'Resize', from: 18, attributes: { mode: text('linear'), axes: ints(2, 3) }, operands: [null, float32Tensor([2], [2, 2])] },
  { op: 'Resize', from: 18, attributes: { mode: text('nearest'), axes: ints(3, 2) }, operands: [null, null, int64Tensor([15, 30])] },
]; // biome-ignore format: a table

export const formTables: Readonly<Record<string, readonly Form[]>> = {
  convolutions,
  pools,
  quantised,
  resizes,
};
