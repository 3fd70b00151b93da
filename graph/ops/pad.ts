/** Pad (opset 13): constant padding is added to the parts that touch the border; other modes read input indices again. */
import { padAttributes } from '../attributes/moves.ts';
import { fromIndices, intersect, type Ranges, range, size, toIndices } from '../ranges.ts';
import { int64Tensor, readIntegers } from '../tensor.ts';
import { inputNames, type Need, type NodeView, needUnlessConstant, type OpRule, type Slab } from './rule.ts';
import { emitConcat, emitSelection, inOrder } from './select.ts';

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

/** The input index that a mode other than constant puts at an output index. */
function sourceIndex(mode: string, index: number, before: number, length: number): number {
  const at = index - before;
  if (mode !== 'reflect') return Math.min(Math.max(at, 0), length - 1);
  if (length === 1) return 0;
  const period = 2 * (length - 1);
  const within = ((at % period) + period) % period;
  return within < length ? within : period - within;
}

/** Input indices for a slab along an axis that a mode other than constant pads. */
function sourcesOf(view: NodeView, slab: Slab, before: number): number[] {
  const { mode } = padAttributes(view.node);
  const length = view.inputShape(0)[slab.axis] ?? 1;
  return toIndices(slab.ranges).map((index) => sourceIndex(mode, index, before, length));
}

export const pad: OpRule = {
  kind: 'structural',
  doc: {
    channels: 'the channels that are not padding',
    rows: 'the rows that are not padding, or those that are reflected or repeated there',
    others: 'likewise; amounts constant',
  },
  needs(view, slab) {
    const pads = padsOf(view);
    if (pads === undefined || view.isConstant(0)) return undefined;
    const before = pads.begin[slab.axis] ?? 0;
    const after = pads.end[slab.axis] ?? 0;
    const rest = view.node.inputs.slice(1).map((_, i): Need => needUnlessConstant(view, i + 1, 'whole'));
    if (before === 0 && after === 0) return [slab, ...rest];
    if (padAttributes(view.node).mode !== 'constant') {
      return [{ axis: slab.axis, ranges: fromIndices(sourcesOf(view, slab, before)) }, ...rest];
    }
    const runs = padRuns(slab.ranges, before, view.inputShape(0)[slab.axis] ?? 0);
    // Nothing but padding: one index is taken for the sake of the other lengths, and ties nobody.
    const shapeOnly = runs.every(({ end }) => end < 0);
    return [{ axis: slab.axis, ranges: runs.flatMap(({ inside }) => inside), shapeOnly }, ...rest];
  },
  emit(view, part, builder) {
    const pads = padsOf(view);
    const [input] = part.inputs;
    if (pads === undefined || input === undefined) return '';
    const value = inputNames(view, part, builder).slice(2);
    const padded = (name: string, begin: number, end: number, output: string | undefined) => {
      const at = (side: readonly number[], own: number) => side.map((n, i) => (i === part.axis ? own : n));
      const amounts = [...at(pads.begin, begin), ...at(pads.end, end)];
      if (amounts.every((amount) => amount === 0)) return name;
      const constant = builder.constant(int64Tensor(amounts), 'pads');
      return builder.node('Pad', [name, constant, ...value], view.node.attributes, output);
    };
    const before = pads.begin[part.axis] ?? 0;
    if (before === 0 && (pads.end[part.axis] ?? 0) === 0) return padded(input.name, 0, 0, part.output);
    if (padAttributes(view.node).mode !== 'constant') {
      const local = new Map(toIndices(input.order).map((index, position) => [index, position]));
      const positions = sourcesOf(view, part, before).map((index) => local.get(index) ?? 0);
      const length = size(input.order);
      return padded(
        emitSelection(builder, input.name, part.axis, inOrder(positions), length),
        0,
        0,
        part.output,
      );
    }
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
