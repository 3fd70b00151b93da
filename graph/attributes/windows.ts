/** Attributes of operators that slide windows: convolutions and pools. `rank` is the number of spatial axes. */
import type { Node } from '../graph.ts';
import { flag, int, ints, text } from './read.ts';

/** What all of them have. */
export interface WindowAttributes {
  /** NOTSET, SAME_UPPER, SAME_LOWER or VALID. */
  readonly autoPad: string;
  /** Pools alone have it. */
  readonly ceilMode: boolean;
  /** One for each spatial axis. */
  readonly dilations: readonly number[];
  /** Undefined where the weights say it (convolutions alone may leave it out). */
  readonly kernelShape: readonly number[] | undefined;
  /** All begins, then all ends; zeros where `autoPad` decides. */
  readonly pads: readonly number[];
  readonly strides: readonly number[];
}

function each(node: Node, name: string, fallback: number, length: number): readonly number[] {
  return ints(node, name) ?? new Array<number>(length).fill(fallback);
}

export function windowAttributes(node: Node, rank: number): WindowAttributes {
  return {
    autoPad: text(node, 'auto_pad', 'NOTSET'),
    ceilMode: flag(node, 'ceil_mode', false),
    dilations: each(node, 'dilations', 1, rank),
    kernelShape: ints(node, 'kernel_shape'),
    pads: each(node, 'pads', 0, 2 * rank),
    strides: each(node, 'strides', 1, rank),
  };
}

/** Conv, ConvInteger, QLinearConv. */
export const convAttributes = (node: Node, rank: number) => ({
  ...windowAttributes(node, rank),
  group: int(node, 'group', 1),
});

export const convTransposeAttributes = (node: Node, rank: number) => ({
  ...convAttributes(node, rank),
  outputPadding: each(node, 'output_padding', 0, rank),
  /** The spatial lengths of the output, from which its padding follows. */
  outputShape: ints(node, 'output_shape'),
});

export const maxPoolAttributes = (node: Node, rank: number) => ({
  ...windowAttributes(node, rank),
  /** Whether indices count column by column. */
  storageOrder: int(node, 'storage_order', 0),
});

export const averagePoolAttributes = (node: Node, rank: number) => ({
  ...windowAttributes(node, rank),
  countIncludePad: flag(node, 'count_include_pad', false),
});

export const lpPoolAttributes = (node: Node, rank: number) => ({
  ...windowAttributes(node, rank),
  p: int(node, 'p', 2),
});
