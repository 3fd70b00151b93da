/**
 * Convolutions, pools and resizing in every form that files hold: all forms of one opset lie side by side in one graph, behind a
 * convolution each, which is divided over three devices and compared with onnxruntime on the whole.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { DivisionAxis } from '../../compiler/compile.ts';
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { answers, modelBytes, unnamed } from '../support/dividedAnswer.ts';
import { float, int, ints, random, text } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

interface Form {
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
  { op: 'AveragePool', from: 7, attributes: { ...square, ...pads(1, 1, 1, 1) } },
  { op: 'AveragePool', from: 7, attributes: { ...square, ...pads(1, 1, 1, 1), count_include_pad: int(1) } },
  { op: 'AveragePool', from: 7, attributes: { ...square, ...same(true) } },
  { op: 'AveragePool', from: 7, attributes: { ...kernel(2, 2), ...same(false), count_include_pad: int(1) } },
  { op: 'AveragePool', from: 7, spatial: 1, attributes: { ...kernel(4), ...strides(2), ...pads(1, 1) } },
  { op: 'AveragePool', from: 10, attributes: { ...square, ceil_mode: int(1) } },
  { op: 'AveragePool', from: 10, attributes: { ...square, ceil_mode: int(1), ...pads(1, 1, 1, 1), count_include_pad: int(1) } },
  { op: 'AveragePool', from: 7, attributes: kernel(12, 10) },
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
const transformations = [
  'half_pixel',
  'pytorch_half_pixel',
  'asymmetric',
  'align_corners',
  'tf_half_pixel_for_nn',
];
const roundings = ['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'];

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
  { op: 'Resize', from: 18, attributes: { mode: text('linear'), axes: ints(2, 3) }, operands: [null, float32Tensor([2], [2, 2])] },
  { op: 'Resize', from: 18, attributes: { mode: text('nearest'), axes: ints(3, 2) }, operands: [null, null, int64Tensor([15, 30])] },
]; // biome-ignore format: a table

const inputs: Readonly<Record<string, readonly number[]>> = {
  x1: [1, 3, 20],
  x2: [1, 3, 12, 10],
  x3: [1, 3, 6, 5, 7],
};

/** A graph grown form by form. */
class FormsWriter {
  readonly nodes: Node[] = [];
  readonly outputs: Graph['outputs'][number][] = [];
  readonly initializers = new Map<string, Tensor>();

  constant(tensor: Tensor): string {
    const name = `c${this.initializers.size}`;
    this.initializers.set(name, tensor);
    return name;
  }

  add(
    { op, attributes = {}, weight, bias, spatial = 2, perChannel, operands: given }: Form,
    index: number,
  ): void {
    const before = `before${index}`;
    const first = this.constant(random([8, 3, ...Array<number>(spatial).fill(1)]));
    this.nodes.push(unnamed('Conv', [`x${spatial}`, first], [before]));
    const output = `${op} ${index}`;
    const channels = weight?.[op === 'ConvTranspose' ? 1 : 0] ?? 0;
    const operands = (given ?? []).map((tensor) => (tensor === null ? '' : this.constant(tensor)));
    if (weight !== undefined) operands.push(this.constant(random(weight)));
    const length = op === 'ConvTranspose' ? channels * Number(attributes['group']?.value ?? 1) : channels;
    if (bias === true && !op.startsWith('Q')) operands.push(this.constant(random([length])));
    if (op !== 'QLinearConv' && op !== 'ConvInteger') {
      this.nodes.push(unnamed(op, [before, ...operands], [output], attributes));
      this.outputs.push({ name: output, dataType: 'float32' });
      return;
    }
    const scale = (value: number) => this.constant(float32Tensor([], [value]));
    const zero = () => this.constant({ dataType: 'uint8', dims: [], data: Uint8Array.of(120) });
    const [own, point] = [scale(0.05), zero()];
    this.nodes.push(unnamed('QuantizeLinear', [before, own, point], [`${before}q`]));
    const filter = this.constant(random(weight ?? [], 'uint8'));
    const filterZero = this.constant({ dataType: 'uint8', dims: [], data: Uint8Array.of(100) });
    if (op === 'ConvInteger') {
      this.nodes.push(unnamed(op, [`${before}q`, filter, point, filterZero], [output], attributes));
      this.outputs.push({ name: output, dataType: 'int32' });
      return;
    }
    // Scales of single output channels go with signed weights around zero.
    const each = perChannel === true;
    const scales = each
      ? this.constant(
          float32Tensor(
            [channels],
            Array.from({ length: channels }, (_, i) => 0.01 + i / 500),
          ),
        )
      : scale(0.02);
    const signed = each ? this.constant(random(weight ?? [], 'int8')) : filter;
    const zeros = each
      ? this.constant({ dataType: 'int8', dims: [channels], data: new Uint8Array(channels) })
      : filterZero;
    const added =
      bias === true
        ? [this.constant({ dataType: 'int32', dims: [channels], data: new Uint8Array(4 * channels) })]
        : [];
    const [outScale, outZero] = [scale(1.5), zero()];
    const all = [`${before}q`, own, point, signed, scales, zeros, outScale, outZero, ...added];
    this.nodes.push(unnamed(op, all, [output], attributes));
    this.outputs.push({ name: output, dataType: 'uint8' });
  }

  graph(): Graph {
    const read = new Set(this.nodes.flatMap((node) => node.inputs));
    return {
      name: 'forms',
      inputs: Object.entries(inputs).flatMap(([name, shape]) =>
        read.has(name) ? [{ name, dataType: 'float32', shape }] : [],
      ),
      outputs: this.outputs,
      nodes: this.nodes,
      initializers: this.initializers,
      values: new Map(),
    };
  }
}

const axes: readonly DivisionAxis[] = ['channels', 'rows'];
const tables = { convolutions, pools, quantised, resizes };

describe.each(axes)('by %s', (axis) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  test.each(
    [6, 7, 9, 10, 11, 17, 22].flatMap((opset) =>
      Object.entries(tables).map(([name, forms]) => [opset, name, forms] as const),
    ),
  )('opset %d: %s', async (opset, _, forms) => {
    const writer = new FormsWriter();
    for (const [index, form] of forms.entries())
      if (opset >= (form.from ?? 1) && opset < (form.below ?? 99)) writer.add(form, index);
    const graph = writer.graph();
    if (graph.nodes.length === 0) return;
    const feeds = Object.fromEntries(
      graph.inputs.map(({ name }, i) => [
        name,
        randomTensor('float32', inputs[name] ?? [], seededRandom(i + 1)),
      ]),
    );
    const { expected, outputs, plan } = await answers(backend, modelBytes(graph, opset), feeds, {
      numShards: 3,
      axis,
    });
    const wrong = Object.entries(expected).flatMap(([name, tensor]) => {
      const difference = tensorDifference(tensor, outputs[name]);
      const form = forms[Number(name.split(' ')[1])];
      return difference === undefined ? [] : [`${JSON.stringify(form)}: ${difference}`];
    });
    expect(wrong).toEqual([]);
    // Most forms are divided, and the work with them.
    const { macs, macsPerShard } = plan.file.report;
    expect(Math.max(0, ...macsPerShard)).toBeLessThanOrEqual(0.6 * macs);
    expect(Object.keys(outputs)).toHaveLength(graph.outputs.length);
  });
});
