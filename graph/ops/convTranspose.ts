/**
 * ConvTranspose (opset 11): X[N,C,D1..], W[C,M/group,k1..], B[M] -> Y[N,M,O1..]. Each input index writes a window of
 * outputs, so a strip of outputs needs the inputs whose windows reach it, and the rest of those windows is cropped.
 */
import { convTransposeAttributes } from '../attributes/windows.ts';
import { type Attribute, withAttributes } from '../graph.ts';
import { normalise, positionsWithin, type Range, range, shift, size, union } from '../ranges.ts';
import { elementCount } from '../tensor.ts';
import { type Groups, inputChannels, type Segment, segmentsOf } from './groups.ts';
import {
  inputNames,
  type NodeView,
  needUnlessConstant,
  type OpRule,
  type Part,
  type PartBuilder,
} from './rule.ts';
import { emitConcat, emitSelection } from './select.ts';

/** One spatial axis: output = (input - 1) * stride + extent + outputPadding - padBegin - padEnd. */
interface Spread {
  readonly stride: number;
  /** Outputs from the first to the last that one input index writes. */
  readonly extent: number;
  readonly padBegin: number;
  readonly padEnd: number;
  readonly outputPadding: number;
  readonly inputLength: number;
}

function spreadOf(view: NodeView, axis: number): Spread {
  const spatial = axis - 2;
  const rank = view.outputShape.length - 2;
  const { autoPad, dilations, outputShape, pads, ...attributes } = convTransposeAttributes(view.node, rank);
  const stride = attributes.strides[spatial] ?? 1;
  const extent = ((view.inputShape(1)[axis] ?? 1) - 1) * (dilations[spatial] ?? 1) + 1;
  const outputPadding = attributes.outputPadding[spatial] ?? 0;
  const inputLength = view.inputShape(0)[axis] ?? 1;
  const common = { stride, extent, outputPadding, inputLength };
  if (autoPad === 'NOTSET' && outputShape === undefined) {
    return { ...common, padBegin: pads[spatial] ?? 0, padEnd: pads[spatial + rank] ?? 0 };
  }
  const full = (inputLength - 1) * stride + extent + outputPadding;
  const total = Math.max(0, full - (view.outputShape[axis] ?? 1));
  const small = Math.floor(total / 2);
  return autoPad === 'SAME_UPPER'
    ? { ...common, padBegin: small, padEnd: total - small }
    : { ...common, padBegin: total - small, padEnd: small };
}

interface SpreadRun {
  readonly inputs: Range;
  readonly padBegin: number;
  readonly padEnd: number;
  readonly outputPadding: number;
}

/** The inputs for the outputs [first, last), and what to crop from what they write. */
function runOf(spread: Spread, [first, last]: Range): SpreadRun {
  const { stride, extent, padBegin, inputLength } = spread;
  const reaching = Math.ceil((first + padBegin - extent + 1) / stride);
  // Where strides leave gaps, the input before the gap, so that there is something to crop from.
  const before = Math.floor((first + padBegin) / stride);
  const start = Math.min(Math.max(0, Math.min(reaching, before)), inputLength - 1);
  const end = Math.min(inputLength, Math.max(start, Math.floor((last - 1 + padBegin) / stride)) + 1);
  const crop = first + padBegin - start * stride;
  const rest = (end - start - 1) * stride + extent - crop - (last - first);
  return {
    inputs: [start, end],
    padBegin: crop,
    padEnd: Math.max(0, rest),
    outputPadding: Math.max(0, -rest),
  };
}

function rowAttributes(view: NodeView, axis: number, run: SpreadRun): ReadonlyMap<string, Attribute> {
  const sides = view.outputShape.slice(2).map((_, i) => (i + 2 === axis ? run : spreadOf(view, i + 2)));
  const ints = (value: readonly number[]): Attribute => ({ type: 'ints', value });
  return withAttributes(view.node, {
    auto_pad: null,
    output_shape: null,
    pads: ints([...sides.map(({ padBegin }) => padBegin), ...sides.map(({ padEnd }) => padEnd)]),
    output_padding: ints(sides.map(({ outputPadding }) => outputPadding)),
  });
}

function emitRows(view: NodeView, part: Part, builder: PartBuilder): string {
  const [name = '', ...rest] = inputNames(view, part, builder);
  const order = part.inputs[0]?.order ?? [];
  const spread = spreadOf(view, part.axis);
  const pieces = part.ranges.map((outputs) => {
    const run = runOf(spread, outputs);
    const [start, end] = run.inputs;
    builder.countMacs((macs(view) / spread.inputLength) * (end - start));
    const positions = positionsWithin(order, [run.inputs]);
    const input = emitSelection(builder, name, part.axis, positions, size(order));
    const output = part.ranges.length === 1 ? part.output : undefined;
    return builder.node('ConvTranspose', [input, ...rest], rowAttributes(view, part.axis, run), output);
  });
  return emitConcat(builder, pieces, part.axis, part.output);
}

function groupsOf(view: NodeView): Groups {
  const { group: count } = convTransposeAttributes(view.node, view.outputShape.length - 2);
  return { count, inputs: (view.inputShape(0)[1] ?? 1) / count, outputs: view.inputShape(1)[1] ?? 1 };
}

/** Every input element is multiplied with every weight of its channel. */
function macs(view: NodeView): number {
  return elementCount(view.inputShape(0)) * elementCount(view.inputShape(1).slice(1));
}

function emitChannels(view: NodeView, part: Part, builder: PartBuilder): string {
  const groups = groupsOf(view);
  const [, weight = '', bias = ''] = view.node.inputs;
  const { name = '', order = [] } = part.inputs[0] ?? {};
  const macsPerOutput = macs(view) / (view.outputShape[1] ?? 1);
  // Of one group only the inputs that are there are multiplied.
  const held = groups.count === 1 ? (macsPerOutput / groups.inputs) * size(order) : macsPerOutput;
  builder.countMacs(held * size(part.ranges));
  const segments = segmentsOf(groups, part.ranges);
  const emitSegment = (segment: Segment): string => {
    const channels = groups.count === 1 ? order : inputChannels(groups, segment);
    const [first = 0] = segment.groups;
    // W holds the outputs of one group only; several groups are always taken whole.
    const columns =
      segment.groups.length === 1
        ? shift(segment.outputs, -first * groups.outputs)
        : range(0, groups.outputs);
    const input =
      groups.count === 1
        ? name
        : emitSelection(builder, name, 1, positionsWithin(order, channels), size(order));
    const inputs = [input, builder.weight(weight, { 0: channels, 1: columns })];
    if (bias !== '') inputs.push(builder.weight(bias, { 0: segment.outputs }));
    const attributes = withAttributes(view.node, { group: { type: 'int', value: segment.groups.length } });
    const output = segments.length === 1 ? part.output : undefined;
    return builder.node('ConvTranspose', inputs, attributes, output);
  };
  return emitConcat(builder, segments.map(emitSegment), 1, part.output);
}

export const convTranspose: OpRule = {
  kind: 'contraction',
  doc: {
    channels: 'all input channels, in any order; with groups, those of the groups touched. Weights constant',
    rows: 'the rows whose windows reach it; weights whole',
  },
  needs(view, { axis, ranges }) {
    if (axis === 0 || view.isConstant(0)) return undefined;
    const rest = view.node.inputs.slice(1).map((_, i) => needUnlessConstant(view, i + 1, 'whole'));
    if (axis >= 2) {
      const spread = spreadOf(view, axis);
      return [{ axis, ranges: normalise(ranges.map((outputs) => runOf(spread, outputs).inputs)) }, ...rest];
    }
    if (rest.some((need) => need !== 'none')) return undefined;
    const groups = groupsOf(view);
    if (groups.count === 1) return [{ axis, ranges: range(0, groups.inputs), anyOrder: true }, ...rest];
    const needed = segmentsOf(groups, ranges).map((segment) => inputChannels(groups, segment));
    return [{ axis, ranges: union(...needed) }, ...rest];
  },
  emit: (view, part, builder) =>
    part.axis === 1 ? emitChannels(view, part, builder) : emitRows(view, part, builder),
  macs,
};
