/** Attributes of operators that take results along axes. */
import type { Node } from '../graph.ts';
import { workingOpset } from '../opsets.ts';
import { flag, int, ints, optionalInt } from './read.ts';

/** Softmax, LogSoftmax and Hardmax; until opset 12 what lies behind `axis` was one row. */
export const softmaxAttributes = (node: Node, opset = workingOpset) => ({
  axis: int(node, 'axis', opset < 13 ? 1 : -1),
});

/** All Reduce operators. */
export const reduceAttributes = (node: Node) => ({
  /** Undefined where it is an input, or left out. */
  axes: ints(node, 'axes'),
  keepdims: flag(node, 'keepdims', true),
  noopWithEmptyAxes: flag(node, 'noop_with_empty_axes', false),
});

/** ArgMax and ArgMin. */
export const argReduceAttributes = (node: Node) => ({
  axis: int(node, 'axis', 0),
  keepdims: flag(node, 'keepdims', true),
  selectLastIndex: flag(node, 'select_last_index', false),
});

export const topKAttributes = (node: Node) => ({
  axis: int(node, 'axis', -1),
  /** Until opset 9; then it is an input. */
  k: optionalInt(node, 'k'),
});
