/** The attributes of Conv, ConvTranspose and the pools, by the specification's names and with its defaults. */
import { intAttribute, intsAttribute, type Node, stringAttribute } from '../graph.ts';

export interface WindowAttributes {
  readonly autoPad: string;
  readonly ceilMode: boolean;
  /** One for each spatial axis. */
  readonly dilations: readonly number[];
  readonly group: number;
  /** Undefined where the weights say it (convolutions alone may leave it out). */
  readonly kernelShape: readonly number[] | undefined;
  readonly outputPadding: readonly number[];
  /** ConvTranspose: the spatial lengths of the output, from which its padding follows. */
  readonly outputShape: readonly number[] | undefined;
  /** All begins, then all ends; zeros where `auto_pad` decides. */
  readonly pads: readonly number[];
  readonly strides: readonly number[];
}

/** `rank`: the number of spatial axes. */
export function windowAttributes(node: Node, rank: number): WindowAttributes {
  const each = (name: string, fallback: number, length = rank) =>
    intsAttribute(node, name) ?? new Array<number>(length).fill(fallback);
  return {
    autoPad: stringAttribute(node, 'auto_pad', 'NOTSET'),
    ceilMode: intAttribute(node, 'ceil_mode', 0) === 1,
    dilations: each('dilations', 1),
    group: intAttribute(node, 'group', 1),
    kernelShape: intsAttribute(node, 'kernel_shape'),
    outputPadding: each('output_padding', 0),
    outputShape: intsAttribute(node, 'output_shape'),
    pads: each('pads', 0, 2 * rank),
    strides: each('strides', 1),
  };
}

export interface PoolAttributes extends WindowAttributes {
  /** AveragePool: whether the padding counts. */
  readonly countIncludePad: boolean;
  /** LpPool: the norm. */
  readonly p: number;
}

export function poolAttributes(node: Node, rank: number): PoolAttributes {
  return {
    ...windowAttributes(node, rank),
    countIncludePad: intAttribute(node, 'count_include_pad', 0) === 1,
    p: intAttribute(node, 'p', 2),
  };
}
