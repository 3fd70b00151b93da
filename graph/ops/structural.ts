/** Operators that only move data: Concat, Slice, Pad, Transpose, DepthToSpace. Their parts follow their inputs' parts. */
import { type Attribute, intAttribute, intsAttribute, stringAttribute } from '../graph.ts';
import {
  fromIndices,
  intersect,
  normalise,
  positionsWithin,
  type Ranges,
  range,
  shift,
  size,
  toIndices,
} from '../ranges.ts';
import { int64Tensor, readIntegers } from '../tensor.ts';
import { type Need, type NodeView, type OpRule, positiveAxis, type Slab } from './rule.ts';
import { emitConcat, emitSelection } from './select.ts';

const noAttributes: ReadonlyMap<string, Attribute> = new Map();

/** Concat (opset 13) along its own axis: each input gives the indices that lie in its stretch. */
export const concat: OpRule = {
  kind: 'structural',
  needs(view, slab) {
    const axis = positiveAxis(intAttribute(view.node, 'axis', 0), view.outputShape.length);
    let start = 0;
    return view.node.inputs.map((_, i): Need => {
      const length = view.inputShape(i)[axis] ?? 0;
      const own = axis === slab.axis ? intersect(slab.ranges, range(start, start + length)) : undefined;
      const offset = start;
      start += length;
      if (own?.length === 0 || view.isConstant(i)) return 'none';
      return own === undefined ? slab : { axis, ranges: shift(own, -offset) };
    });
  },
  emit(view, part, builder) {
    const axis = positiveAxis(intAttribute(view.node, 'axis', 0), view.outputShape.length);
    let start = 0;
    const pieces = view.node.inputs.flatMap((input, i) => {
      const length = view.inputShape(i)[axis] ?? 0;
      const along = axis === part.axis ? intersect(part.ranges, range(start, start + length)) : undefined;
      const selection = along === undefined ? part.ranges : shift(along, -start);
      start += length;
      if (selection.length === 0) return [];
      return [
        view.isConstant(i) ? builder.weight(input, { [part.axis]: selection }) : (part.inputs[i]?.name ?? ''),
      ];
    });
    return emitConcat(builder, pieces, axis, part.output);
  },
};

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
    const clamp = (value: number, low: number, high: number) =>
      Math.min(Math.max(value < 0 ? value + length : value, low), high);
    const start = clamp(starts[i] ?? 0, 0, step > 0 ? length : length - 1);
    const end = step > 0 ? clamp(ends[i] ?? 0, 0, length) : clamp(ends[i] ?? 0, -1, length - 1);
    return { axis, start, end, step };
  });
}

/** Slice (opset 13): along a cut axis the input part already is the slice, so the cut falls away. */
export const slice: OpRule = {
  kind: 'structural',
  needs(view, slab) {
    const cuts = cutsOf(view);
    if (cuts === undefined || view.isConstant(0)) return undefined;
    const cut = cuts.find(({ axis }) => axis === slab.axis);
    const rest: Need[] = view.node.inputs.slice(1).map(() => 'none');
    if (cut === undefined) return [slab, ...rest];
    if (cut.step < 0) return undefined;
    const ranges =
      cut.step === 1
        ? shift(slab.ranges, cut.start)
        : fromIndices(toIndices(slab.ranges).map((i) => cut.start + i * cut.step));
    return [{ axis: slab.axis, ranges }, ...rest];
  },
  emit(view, part, builder) {
    const input = part.inputs[0]?.name ?? '';
    const cuts = (cutsOf(view) ?? []).filter(({ axis }) => axis !== part.axis);
    if (cuts.length === 0) return input;
    const column = (values: readonly number[]) => builder.constant(int64Tensor(values), 'slice');
    // A negative step that runs to the first element ends below zero, which Slice reads as "from the end".
    const ends = cuts.map(({ end, step }) => (step < 0 && end < 0 ? -(2 ** 31) : end));
    const inputs = [
      column(cuts.map(({ start }) => start)),
      column(ends),
      column(cuts.map(({ axis }) => axis)),
      column(cuts.map(({ step }) => step)),
    ];
    return builder.node('Slice', [input, ...inputs], noAttributes, part.output);
  },
};

/** Elements added before and after each axis; negative where Pad crops. */
function padsOf(view: NodeView): { begin: number[]; end: number[] } | undefined {
  const pads = view.constant(1);
  if (pads === undefined || (view.node.inputs[3] ?? '') !== '') return undefined;
  const values = readIntegers(pads);
  const rank = view.outputShape.length;
  return { begin: values.slice(0, rank), end: values.slice(rank) };
}

interface PadRun {
  /** Indices of the input that this run holds; never empty. */
  readonly inside: Ranges;
  readonly begin: number;
  readonly end: number;
}

/**
 * Runs of output indices along a padded axis as input stretches with padding on both sides. A run of
 * nothing but padding joins its neighbour; if there is none, one input index is taken and cropped
 * again by a negative pad, so that the batch size still comes from the input.
 */
function padRuns(ranges: Ranges, before: number, length: number): PadRun[] {
  const runs: PadRun[] = [];
  let pending = 0;
  for (const [start, end] of ranges) {
    const inside = intersect(range(start - before, end - before), range(0, length));
    const [held] = inside;
    if (held === undefined) {
      const last = runs.at(-1);
      if (last === undefined) pending += end - start;
      else runs[runs.length - 1] = { ...last, end: last.end + end - start };
    } else {
      runs.push({ inside, begin: pending + held[0] - (start - before), end: end - before - held[1] });
      pending = 0;
    }
  }
  return runs.length > 0 || pending === 0 ? runs : [{ inside: range(0, 1), begin: pending, end: -1 }];
}

/** Pad (opset 13), any mode along other axes; along the divided axis only constant padding. */
export const pad: OpRule = {
  kind: 'structural',
  needs(view, slab) {
    const pads = padsOf(view);
    if (pads === undefined) return undefined;
    const before = pads.begin[slab.axis] ?? 0;
    const after = pads.end[slab.axis] ?? 0;
    const rest: Need[] = view.node.inputs.slice(1).map(() => 'none');
    if (before === 0 && after === 0) return [slab, ...rest];
    if (before < 0 || after < 0 || stringAttribute(view.node, 'mode', 'constant') !== 'constant')
      return undefined;
    const runs = padRuns(slab.ranges, before, view.inputShape(0)[slab.axis] ?? 0);
    const shapeOnly = runs.every(({ end }) => end < 0);
    return [{ axis: slab.axis, ranges: runs.flatMap(({ inside }) => inside), shapeOnly }, ...rest];
  },
  emit(view, part, builder) {
    const pads = padsOf(view);
    const [input] = part.inputs;
    if (pads === undefined || input === undefined) return '';
    const value = (view.node.inputs[2] ?? '') === '' ? [] : [builder.weight(view.node.inputs[2] ?? '', {})];
    const padded = (name: string, begin: number, end: number, output: string | undefined) => {
      const at = (side: readonly number[], own: number) => side.map((n, i) => (i === part.axis ? own : n));
      const amounts = [...at(pads.begin, begin), ...at(pads.end, end)];
      if (amounts.every((amount) => amount === 0)) return name;
      const constant = builder.constant(int64Tensor(amounts), 'pads');
      return builder.node('Pad', [name, constant, ...value], view.node.attributes, output);
    };
    const before = pads.begin[part.axis] ?? 0;
    if (before === 0 && (pads.end[part.axis] ?? 0) === 0) return padded(input.name, 0, 0, part.output);
    const runs = padRuns(part.ranges, before, view.inputShape(0)[part.axis] ?? 0);
    let offset = 0;
    const pieces = runs.map(({ inside, begin, end }) => {
      const positions = range(offset, offset + size(inside));
      offset += size(inside);
      const name = emitSelection(builder, input.name, part.axis, positions, size(input.order));
      return padded(name, begin, end, runs.length === 1 ? part.output : undefined);
    });
    return emitConcat(builder, pieces, part.axis, part.output);
  },
};

/** Transpose (opset 13): the part's axis is renamed. */
export const transpose: OpRule = {
  kind: 'structural',
  needs(view, slab) {
    const rank = view.outputShape.length;
    const perm = intsAttribute(view.node, 'perm') ?? Array.from({ length: rank }, (_, i) => rank - 1 - i);
    return [{ axis: perm[slab.axis] ?? slab.axis, ranges: slab.ranges }];
  },
  emit: (view, part, builder) =>
    builder.node('Transpose', [part.inputs[0]?.name ?? ''], view.node.attributes, part.output),
};

/** Input rows whose blocks hold these output rows. */
function blockRows(slab: Slab, blocksize: number, length: number): Need[] {
  const ranges = slab.ranges.map(
    ([start, end]) => [Math.floor(start / blocksize), Math.min(length, Math.ceil(end / blocksize))] as const,
  );
  return [{ axis: slab.axis, ranges: normalise(ranges) }];
}

/**
 * DepthToSpace (opset 13). Output channel c comes from the blocksize^2 input channels k*C + c (DCR) or
 * c*blocksize^2 + k (CRD).
 */
export const depthToSpace: OpRule = {
  kind: 'structural',
  needs(view, slab) {
    const blocksize = intAttribute(view.node, 'blocksize', 1);
    if (slab.axis >= 2) return blockRows(slab, blocksize, view.inputShape(0)[slab.axis] ?? 0);
    if (slab.axis !== 1) return undefined;
    const block = blocksize ** 2;
    const channels = view.outputShape[1] ?? 1;
    const crd = stringAttribute(view.node, 'mode', 'DCR') === 'CRD';
    const source = (c: number) =>
      Array.from({ length: block }, (_, k) => (crd ? c * block + k : k * channels + c));
    return [{ axis: 1, ranges: fromIndices(toIndices(slab.ranges).flatMap(source)) }];
  },
  emit(view, part, builder) {
    const name = part.inputs[0]?.name ?? '';
    const blocksize = intAttribute(view.node, 'blocksize', 1);
    const held =
      part.axis >= 2
        ? part.inputs[0]?.order.map(([s, e]) => [s * blocksize, e * blocksize] as const)
        : undefined;
    const exact = held === undefined || size(held) === size(part.ranges);
    const all = builder.node('DepthToSpace', [name], view.node.attributes, exact ? part.output : undefined);
    if (exact) return all;
    return emitSelection(
      builder,
      all,
      part.axis,
      positionsWithin(held, part.ranges),
      size(held),
      part.output,
    );
  },
};
