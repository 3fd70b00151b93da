/** Operators that read by index: Gather and GatherElements (opset 13), GatherND (opset 13), GridSample (opset 16). */
import { gatherAttributes, gatherElementsAttributes, gatherNdAttributes } from '../attributes/moves.ts';
import { fromIndices, toIndices } from '../ranges.ts';
import { int64Tensor, readIntegers } from '../tensor.ts';
import { type InputPart, partwise } from './partwise.ts';
import { type NodeView, type OpRule, positiveAxis, type Slab } from './rule.ts';

const doc = {
  channels: 'the same channels, or those that constant indices name',
  rows: 'the same rows, or those that constant indices name',
  others: 'along computed indices: those indices, and the data whole',
};

/** Gather's parts where the slab lies beside the gathered axis, or where the indices are computed. */
const byParts = partwise({
  kind: 'structural',
  doc,
  inputs(view, slab) {
    const axis = positiveAxis(gatherAttributes(view.node).axis, view.inputShape(0).length);
    const rank = view.inputShape(1).length;
    if (slab.axis < axis) return [slab, 'whole'];
    if (slab.axis >= axis + rank) return [{ axis: slab.axis - rank + 1, ranges: slab.ranges }, 'whole'];
    return ['whole', { axis: slab.axis - axis, ranges: slab.ranges }];
  },
});

interface Selection {
  /** Axis of the data. */
  readonly axis: number;
  /** One data index per index of the output along that axis. */
  readonly indices: readonly number[];
}

/** A one-dimensional constant selection from computed data along the slab's own axis. */
function selectionOf(view: NodeView, slab: Slab): Selection | undefined {
  const axis = positiveAxis(gatherAttributes(view.node).axis, view.inputShape(0).length);
  const constant = view.constant(1);
  if (constant === undefined || view.isConstant(0)) return undefined;
  if (view.inputShape(1).length !== 1 || slab.axis !== axis) return undefined;
  const length = view.inputShape(0)[axis] ?? 0;
  return { axis, indices: readIntegers(constant).map((index) => positiveAxis(index, length)) };
}

/** Gather: data, indices; axis = 0. */
export const gather: OpRule = {
  ...byParts,
  needs(view, slab) {
    const selection = selectionOf(view, slab);
    if (selection === undefined) return byParts.needs(view, slab);
    const sources = toIndices(slab.ranges).map((i) => selection.indices[i] ?? 0);
    return [{ axis: selection.axis, ranges: fromIndices(sources) }, 'none'];
  },
  emit(view, part, builder) {
    const selection = selectionOf(view, part);
    const [input] = part.inputs;
    if (selection === undefined || input === undefined) return byParts.emit(view, part, builder);
    const held = toIndices(input.order);
    const sources = toIndices(part.ranges).map((i) => selection.indices[i] ?? 0);
    if (held.length === sources.length && held.every((index, i) => index === sources[i])) return input.name;
    const local = new Map(held.map((index, position) => [index, position]));
    const positions = int64Tensor(sources.map((index) => local.get(index) ?? 0));
    const indices = builder.constant(positions, 'indices');
    return builder.node('Gather', [input.name, indices], view.node.attributes, part.output);
  },
};

/** GatherElements: data, indices of the same rank; axis = 0. */
export const gatherElements: OpRule = partwise({
  kind: 'structural',
  doc: {
    channels: 'the same channels of both inputs',
    rows: 'the same rows of both inputs',
    others: 'along `axis` the data whole',
  },
  inputs(view, slab) {
    const axis = positiveAxis(gatherElementsAttributes(view.node).axis, view.outputShape.length);
    return slab.axis === axis ? ['whole', slab] : [slab, slab];
  },
});

/** GatherND: data, indices[.., n]; batch_dims = 0. */
export const gatherNd: OpRule = partwise({
  kind: 'structural',
  doc: {
    channels: 'batch axes: the same of both; axes of the indices: the data whole',
    rows: 'likewise',
    others: 'axes behind the indexed ones: the same of the data',
  },
  inputs(view, slab): InputPart[] {
    const indices = view.inputShape(1);
    const { batchDims } = gatherNdAttributes(view.node);
    if (slab.axis < batchDims) return [slab, slab];
    if (slab.axis < indices.length - 1) return ['whole', slab];
    const indexed = batchDims + (indices.at(-1) ?? 0);
    return [{ axis: indexed + slab.axis - (indices.length - 1), ranges: slab.ranges }, 'whole'];
  },
});

/** GridSample: X[N,C,H,W], grid[N,Ho,Wo,2]. Kept with its owner: it interpolates. */
export const gridSample: OpRule = partwise({
  kind: 'pointwise',
  doc: { channels: 'the same channels; the grid whole', rows: 'the input whole; the same rows of the grid' },
  inputs: (_, slab) =>
    slab.axis === 1
      ? [slab, 'whole']
      : slab.axis > 1
        ? ['whole', { axis: slab.axis - 1, ranges: slab.ranges }]
        : undefined,
});
