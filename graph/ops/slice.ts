/** Slice (opset 13) with constant limits: along a cut axis the input part already is the slice, so the cut falls away. */
import type { Attribute } from '../graph.ts';
import { fromIndices, shift, toIndices } from '../ranges.ts';
import { int64Tensor, readIntegers } from '../tensor.ts';
import { type Need, type NodeView, type OpRule, positiveAxis } from './rule.ts';

const noAttributes: ReadonlyMap<string, Attribute> = new Map();

interface Cut {
  readonly axis: number;
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** Slice's constant limits with ONNX's clamping, or undefined where they are computed at run time. */
function cutsOf(view: NodeView): Cut[] | undefined {
  const read = (i: number) => {
    const constant = (view.node.inputs[i] ?? '') === '' ? undefined : view.constant(i);
    return constant === undefined ? undefined : readIntegers(constant);
  };
  const starts = read(1);
  const ends = read(2);
  if (starts === undefined || ends === undefined) return undefined;
  const shape = view.inputShape(0);
  const axes = read(3) ?? starts.map((_, i) => i);
  const steps = read(4) ?? starts.map(() => 1);
  return axes.map((given, i) => {
    const axis = positiveAxis(given, shape.length);
    const length = shape[axis] ?? 0;
    const step = steps[i] ?? 1;
    return { axis, step, ...sliceBounds(starts[i] ?? 0, ends[i] ?? 0, step, length) };
  });
}

/** Limits along an axis of `length`, counted from its start and clamped as ONNX says; backwards an end of -1 is beyond the first. */
export function sliceBounds(
  start: number,
  end: number,
  step: number,
  length: number,
): { readonly start: number; readonly end: number } {
  const clamp = (value: number, low: number, high: number) =>
    Math.min(Math.max(value < 0 ? value + length : value, low), high);
  return step > 0
    ? { start: clamp(start, 0, length), end: clamp(end, 0, length) }
    : { start: clamp(start, 0, length - 1), end: clamp(end, -1, length - 1) };
}

/** Reads a whole axis backwards: Slice takes an end far below zero as "down to the first". */
const beforeFirst = -(2 ** 31);

export const slice: OpRule = {
  kind: 'structural',
  doc: {
    channels: 'the channels that the slice takes',
    rows: 'the rows that the slice takes',
    others: 'likewise; limits constant',
  },
  needs(view, slab) {
    const cuts = cutsOf(view);
    if (cuts === undefined || view.isConstant(0)) return undefined;
    const cut = cuts.find(({ axis }) => axis === slab.axis);
    const rest: Need[] = view.node.inputs.slice(1).map(() => 'none');
    if (cut === undefined) return [slab, ...rest];
    const ranges =
      cut.step === 1
        ? shift(slab.ranges, cut.start)
        : fromIndices(toIndices(slab.ranges).map((i) => cut.start + i * cut.step));
    return [{ axis: slab.axis, ranges }, ...rest];
  },
  emit(view, part, builder) {
    const input = part.inputs[0]?.name ?? '';
    const cuts = (cutsOf(view) ?? []).flatMap((cut): Cut[] => {
      if (cut.axis !== part.axis) return [cut];
      // The part is there in ascending order.
      return cut.step < 0 ? [{ axis: cut.axis, start: -1, end: beforeFirst, step: -1 }] : [];
    });
    if (cuts.length === 0) return input;
    const column = (values: readonly number[]) => builder.constant(int64Tensor(values), 'slice');
    const ends = cuts.map(({ end, step }) => (step < 0 && end < 0 ? beforeFirst : end));
    const inputs = [
      column(cuts.map(({ start }) => start)),
      column(ends),
      column(cuts.map(({ axis }) => axis)),
      column(cuts.map(({ step }) => step)),
    ];
    return builder.node('Slice', [input, ...inputs], noAttributes, part.output);
  },
};
