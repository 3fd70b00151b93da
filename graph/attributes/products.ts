/** Attributes of matrix products. */
import type { Node } from '../graph.ts';
import { flag, float, text } from './read.ts';

export const gemmAttributes = (node: Node) => ({
  alpha: float(node, 'alpha', 1),
  beta: float(node, 'beta', 1),
  transA: flag(node, 'transA', false),
  transB: flag(node, 'transB', false),
});

/** The specification has no default. */
export const einsumAttributes = (node: Node) => ({ equation: text(node, 'equation', '') });
