/**
 * An ONNX graph as plain readonly data, in ONNX's own vocabulary. Loading and saving are in load.ts
 * and save.ts; what an operator means is in ops/.
 */
import type { DataType, Tensor } from './tensor.ts';

/** A dimension: its length, a name where it is symbolic, or null where the file says nothing. */
export type Dimension = number | string | null;

export interface ValueInfo {
  readonly name: string;
  readonly dataType: DataType;
  /** Absent where the file gives no shape. */
  readonly shape?: readonly Dimension[];
  /**
   * True where the file gives no tensor type (inputs and outputs of subgraphs may leave it out, or be
   * sequences); then `dataType` means nothing. Never in a normalised graph's own values.
   */
  readonly untyped?: true;
}

/** `ints` beyond 2^53 saturate at the ends of int64, which is what such values mean ("to the end"). */
export type Attribute =
  | { readonly type: 'int'; readonly value: number }
  | { readonly type: 'float'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'tensor'; readonly value: Tensor }
  | { readonly type: 'graph'; readonly value: Graph }
  | { readonly type: 'ints'; readonly value: readonly number[] }
  | { readonly type: 'floats'; readonly value: readonly number[] }
  | { readonly type: 'strings'; readonly value: readonly string[] };

export interface Node {
  readonly name: string;
  readonly opType: string;
  /** '' is ONNX's own operator set. */
  readonly domain: string;
  /** '' stands for an optional input that is absent. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, Attribute>;
}

export interface Graph {
  readonly name: string;
  /** Without the initializers, which IR 3 lists among the inputs too. */
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  /** In topological order. */
  readonly nodes: readonly Node[];
  readonly initializers: ReadonlyMap<string, Tensor>;
  /**
   * Initializers that an IR 4 file lists among its inputs too: a caller could replace them, so a runtime does
   * not fold them. Kept only for a bit-for-bit save; normalised graphs have none.
   */
  readonly overridable?: ReadonlySet<string>;
  /** Types and shapes of intermediate values, as far as they are known. */
  readonly values: ReadonlyMap<string, ValueInfo>;
}

export interface Model {
  readonly irVersion: number;
  /** Version of each operator set the model imports, by domain. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly producer: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly graph: Graph;
}

/** The node with some attributes replaced; null removes one. */
export function withAttributes(
  node: Node,
  changes: Readonly<Record<string, Attribute | null>>,
): ReadonlyMap<string, Attribute> {
  const attributes = new Map(node.attributes);
  for (const [name, attribute] of Object.entries(changes)) {
    if (attribute === null) attributes.delete(name);
    else attributes.set(name, attribute);
  }
  return attributes;
}
