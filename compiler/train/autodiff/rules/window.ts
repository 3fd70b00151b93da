/** The geometry of a sliding window as a node's attributes give it, with automatic padding resolved. */
import { windowAttributes } from '../../../../graph/attributes/windows.ts';
import type { Node } from '../../../../graph/graph.ts';

export interface Window {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** Rows before and after, per axis; what the formulas need, so the far end may differ from the attribute. */
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/**
 * `wide` is the shape (without batch and channels) of what the window slides over, `narrow` that of its positions:
 * input and output of a convolution, output and input of a transposed one.
 */
export function windowOf(
  node: Node,
  kernel: readonly number[],
  wide: readonly number[],
  narrow: readonly number[],
): Window {
  const { autoPad: mode, dilations, pads, strides } = windowAttributes(node, kernel.length);
  const reach = (axis: number): number =>
    ((narrow[axis] ?? 1) - 1) * (strides[axis] ?? 1) + ((kernel[axis] ?? 1) - 1) * (dilations[axis] ?? 1) + 1;
  const total = wide.map((length, axis) => reach(axis) - length);
  const before = wide.map((_, axis) => {
    if (mode === 'VALID') return 0;
    if (mode === 'NOTSET') return pads[axis] ?? 0;
    const amount = Math.max(0, total[axis] ?? 0);
    return mode === 'SAME_UPPER' ? Math.floor(amount / 2) : Math.ceil(amount / 2);
  });
  // With strides the last rows may be left out: then this is less than the attribute, or negative.
  const after = total.map((amount, axis) => amount - (before[axis] ?? 0));
  return { kernel, strides, dilations, before, after };
}
