/** Attributes of operators that only move elements. What is an input in newer opsets is undefined where it is one. */
import type { Node } from '../graph.ts';
import { flag, float, int, ints, optionalInt, text } from './read.ts';

export const transposeAttributes = (node: Node, rank: number) => ({
  perm: ints(node, 'perm') ?? Array.from({ length: rank }, (_, axis) => rank - 1 - axis),
});

/** The specification has no default. */
export const concatAttributes = (node: Node) => ({ axis: optionalInt(node, 'axis') ?? Number.NaN });

export const splitAttributes = (node: Node) => ({
  axis: int(node, 'axis', 0),
  /** Until opset 12. */
  split: ints(node, 'split'),
});

/** Until opset 9; then they are inputs. */
export const sliceAttributes = (node: Node) => ({
  starts: ints(node, 'starts'),
  ends: ints(node, 'ends'),
  axes: ints(node, 'axes'),
});

export const gatherAttributes = (node: Node) => ({ axis: int(node, 'axis', 0) });

export const gatherElementsAttributes = (node: Node) => ({ axis: int(node, 'axis', 0) });

export const gatherNdAttributes = (node: Node) => ({ batchDims: int(node, 'batch_dims', 0) });

/** ScatterElements and ScatterND. */
export const scatterAttributes = (node: Node) => ({ reduction: text(node, 'reduction', 'none') });

export const reshapeAttributes = (node: Node) => ({ allowzero: flag(node, 'allowzero', false) });

export const flattenAttributes = (node: Node) => ({ axis: int(node, 'axis', 1) });

/** Until opset 12; then it is an input. */
export const squeezeAttributes = (node: Node) => ({ axes: ints(node, 'axes') });

/** Until opset 12; then it is an input. */
export const unsqueezeAttributes = (node: Node) => ({ axes: ints(node, 'axes') });

export const padAttributes = (node: Node) => ({
  mode: text(node, 'mode', 'constant'),
  /** Until opset 10. */
  pads: ints(node, 'pads'),
  value: float(node, 'value', 0),
});

/** The specification has no default for `blocksize`. */
export const depthToSpaceAttributes = (node: Node) => ({
  blocksize: int(node, 'blocksize', 0),
  mode: text(node, 'mode', 'DCR'),
});

export const spaceToDepthAttributes = (node: Node) => ({ blocksize: int(node, 'blocksize', 0) });

export const shapeAttributes = (node: Node, rank: number) => ({
  start: int(node, 'start', 0),
  end: int(node, 'end', rank),
});
