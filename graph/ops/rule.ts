/**
 * What the project knows of an operator: which part of each input a part of its output needs, and how
 * that part is emitted as ONNX nodes. Nothing here knows shards, devices or plans.
 *
 * Every rule speaks of opset 17 (graphs are lifted to it first) and of nodes with one output.
 */
import type { Attribute, Node } from '../graph.ts';
import type { Ranges } from '../ranges.ts';
import type { Tensor } from '../tensor.ts';

/** Some indices along one axis of a value, and everything along the others. */
export interface Slab {
  readonly axis: number;
  readonly ranges: Ranges;
}

export interface SlabNeed extends Slab {
  /** The operator can permute its weights, so the indices may arrive in any order. */
  readonly anyOrder?: boolean;
  /** Only the shape is read, not the elements: any index would do, and no owner has to be the same. */
  readonly shapeOnly?: boolean;
}

export type Need = SlabNeed | 'whole' | 'none';

/** A node with the facts a rule may read: shapes are concrete. */
export interface NodeView {
  readonly node: Node;
  readonly outputShape: readonly number[];
  inputShape(index: number): readonly number[];
  isConstant(index: number): boolean;
  /** The elements of a small constant input (axes, shapes, scalars); undefined for values computed at run time. */
  constant(index: number): Tensor | undefined;
}

export interface LocalInput {
  /** '' where the rule needs nothing of this input, or where it is a constant. */
  readonly name: string;
  /** The indices along the need's axis in the order in which the tensor holds them. */
  readonly order: Ranges;
}

export interface Part extends Slab {
  readonly inputs: readonly LocalInput[];
  /** Name to give to the emitted part. */
  readonly output: string;
}

export interface PartBuilder {
  /** Adds a node and returns its output's name; `output` defaults to a fresh name. */
  node(
    opType: string,
    inputs: readonly string[],
    attributes: ReadonlyMap<string, Attribute>,
    output?: string,
  ): string;
  /** Part of an initializer: the listed indices along the given axes, in the listed order. */
  weight(initializer: string, selections: Readonly<Record<number, Ranges>>): string;
  /** A new constant. */
  constant(tensor: Tensor, hint: string): string;
  countMacs(count: number): void;
}

/**
 * - contraction: every output index needs many input indices, so the output can be divided freely;
 * - pointwise: each output index needs the same few input indices, so both are divided alike;
 * - structural: only moves data, so a part is made again wherever it is needed and never exchanged itself.
 */
export type RuleKind = 'contraction' | 'pointwise' | 'structural';

/**
 * One line per kind of axis for docs/operators.md: what a part needs, or "no: why". `rows` are the spatial axes of
 * [N, C, H, W] maps, `others` whatever else the operator has (tokens, heads, axes before the last).
 */
export interface RuleDoc {
  readonly channels: string;
  readonly rows: string;
  readonly others?: string;
}

export interface OpRule {
  readonly kind: RuleKind;
  readonly doc: RuleDoc;
  /** One need per input, or undefined where the output cannot be divided along this axis. */
  needs(view: NodeView, slab: Slab): readonly Need[] | undefined;
  /** Emits the part and returns the name of the tensor that holds it (an input's name where nothing is to do). */
  emit(view: NodeView, part: Part, builder: PartBuilder): string;
  /** Multiply-accumulates of the whole node. */
  macs?(view: NodeView): number;
}

/** A negative axis counted from the end, as ONNX allows. */
export function positiveAxis(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

/** 'none' for each constant or absent input, else what is given. */
export function needUnlessConstant(view: NodeView, input: number, need: Need): Need {
  return (view.node.inputs[input] ?? '') === '' || view.isConstant(input) ? 'none' : need;
}

/** Local names for a node's inputs, in order; constants keep the initializer's own name (whole). */
export function inputNames(view: NodeView, part: Part, builder: PartBuilder): string[] {
  return view.node.inputs.map((input, i) => {
    if (input === '') return '';
    return view.isConstant(i) ? builder.weight(input, {}) : (part.inputs[i]?.name ?? '');
  });
}
