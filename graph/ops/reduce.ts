/** Reductions, softmax and running sums: alike along every axis but those they mix. */
import { argReduceAttributes, reduceAttributes, softmaxAttributes } from '../attributes/reductions.ts';
import { readIntegers } from '../tensor.ts';
import { alongOtherAxes, firstInput, partwise } from './partwise.ts';
import { type NodeView, type OpRule, positiveAxis } from './rule.ts';

/** Softmax, LogSoftmax and Hardmax (opset 13): axis = -1. */
export function softmaxAxis(view: NodeView): readonly number[] {
  return [positiveAxis(softmaxAttributes(view.node).axis, view.outputShape.length)];
}

/** Softmax and LogSoftmax (opset 13): normalised along `axis`. */
export const softmax: OpRule = alongOtherAxes(
  {
    channels: 'the same channels; normalised along them: largest elements and sums are exchanged',
    rows: 'the same rows; likewise where normalised along them',
    others: 'the same indices, except along `axis`',
  },
  softmaxAxis,
);

/** Hardmax (opset 13): one where `axis` has its first largest element. */
export const hardmax: OpRule = alongOtherAxes(
  {
    channels: 'the same channels, unless they are compared',
    rows: 'the same rows, unless they are compared',
    others: 'the same indices, except along `axis`',
  },
  softmaxAxis,
);

/** The axes a Reduce* node reduces: an attribute, or ReduceSum's second input (opset 13). */
export function reducedAxes(view: NodeView): number[] | undefined {
  const rank = view.inputShape(0).length;
  const { axes: given, noopWithEmptyAxes } = reduceAttributes(view.node);
  const constant = (view.node.inputs[1] ?? '') === '' ? undefined : view.constant(1);
  if (given === undefined && constant === undefined && (view.node.inputs[1] ?? '') !== '') return undefined;
  const axes = given ?? (constant === undefined ? [] : readIntegers(constant));
  if (axes.length > 0) return axes.map((axis) => positiveAxis(axis, rank));
  return noopWithEmptyAxes ? [] : Array.from({ length: rank }, (_, i) => i);
}

/** Output axis -> input axis, or undefined where that axis is reduced. */
function sourceAxis(view: NodeView, reduced: readonly number[], axis: number): number | undefined {
  const all = view.inputShape(0).map((_, i) => i);
  const kept = reduceAttributes(view.node).keepdims ? all : all.filter((i) => !reduced.includes(i));
  const source = kept[axis];
  return source === undefined || reduced.includes(source) ? undefined : source;
}

function reduction(reducedOf: (view: NodeView) => readonly number[] | undefined): OpRule {
  return partwise({
    kind: 'pointwise',
    doc: {
      channels: 'the same channels; results over them become partial ones, which are then combined',
      rows: 'the same rows; results over them likewise',
      others: 'the same indices of an axis that is not reduced',
    },
    inputs(view, slab) {
      const reduced = reducedOf(view);
      const axis = reduced === undefined ? undefined : sourceAxis(view, reduced, slab.axis);
      return axis === undefined ? undefined : firstInput(view, { axis, ranges: slab.ranges });
    },
  });
}

export const reduce: OpRule = reduction(reducedAxes);

/** ArgMax and ArgMin (opset 13): axis = 0. */
export function argAxis(view: NodeView): number {
  return positiveAxis(argReduceAttributes(view.node).axis, view.inputShape(0).length);
}

export const argReduce: OpRule = reduction((view) => [argAxis(view)]);

/** CumSum (opset 14): x, axis. */
export const cumSum: OpRule = partwise({
  kind: 'pointwise',
  doc: {
    channels: 'the same channels, unless summed along them',
    rows: 'the same rows, unless summed along them',
    others: 'the same indices, except along `axis`',
  },
  inputs(view, slab) {
    const constant = view.constant(1);
    if (constant === undefined) return undefined;
    const [axis = 0] = readIntegers(constant);
    return positiveAxis(axis, view.outputShape.length) === slab.axis ? undefined : firstInput(view, slab);
  },
});

/** Trilu (opset 14): input, k. Alike along the axes before the matrices. */
export const trilu: OpRule = alongOtherAxes(
  { channels: 'the same channels before the last two axes', rows: 'no: the diagonal depends on the row' },
  (view) => [view.outputShape.length - 2, view.outputShape.length - 1],
);
