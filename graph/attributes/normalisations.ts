/** Attributes of normalisations. */
import type { Node } from '../graph.ts';
import { flag, float, int, ints } from './read.ts';

export const batchNormalizationAttributes = (node: Node) => ({
  epsilon: float(node, 'epsilon', 1e-5),
  momentum: float(node, 'momentum', 0.9),
  trainingMode: flag(node, 'training_mode', false),
  /** Until opset 8: statistics are of channels, not of single positions. */
  spatial: flag(node, 'spatial', true),
});

export const instanceNormalizationAttributes = (node: Node) => ({ epsilon: float(node, 'epsilon', 1e-5) });

export const layerNormalizationAttributes = (node: Node) => ({
  axis: int(node, 'axis', -1),
  epsilon: float(node, 'epsilon', 1e-5),
});

export const rmsNormalizationAttributes = layerNormalizationAttributes;

export const groupNormalizationAttributes = (node: Node) => ({
  epsilon: float(node, 'epsilon', 1e-5),
  /** The specification has no default. */
  numGroups: int(node, 'num_groups', 1),
});

export const lpNormalizationAttributes = (node: Node) => ({
  axis: int(node, 'axis', -1),
  p: int(node, 'p', 2),
});

export const meanVarianceNormalizationAttributes = (node: Node) => ({
  axes: ints(node, 'axes') ?? [0, 2, 3],
});

/** Its factors are left to the operator. The specification has no default for `size`. */
export const lrnAttributes = (node: Node) => ({ size: int(node, 'size', 1) });
