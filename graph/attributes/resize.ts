/** Attributes of operators that sample between elements. */
import type { Node } from '../graph.ts';
import { flag, float, floats, ints, text } from './read.ts';

/** Resize of opset 11 and later; until opset 10 it had `mode` alone, and meant `asymmetric`. */
export const resizeAttributes = (node: Node) => ({
  antialias: flag(node, 'antialias', false),
  /** Undefined: all. */
  axes: ints(node, 'axes'),
  coordinateTransformationMode: text(node, 'coordinate_transformation_mode', 'half_pixel'),
  cubicCoeffA: float(node, 'cubic_coeff_a', -0.75),
  excludeOutside: flag(node, 'exclude_outside', false),
  keepAspectRatioPolicy: text(node, 'keep_aspect_ratio_policy', 'stretch'),
  mode: text(node, 'mode', 'nearest'),
  nearestMode: text(node, 'nearest_mode', 'round_prefer_floor'),
});

export const upsampleAttributes = (node: Node) => ({
  mode: text(node, 'mode', 'nearest'),
  /** Until opset 8; then it is an input. */
  scales: floats(node, 'scales'),
});

/** From opset 20 on; before, the modes had other names. */
export const gridSampleAttributes = (node: Node) => ({ mode: text(node, 'mode', 'linear') });
