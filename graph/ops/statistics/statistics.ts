/**
 * How a result over a divided axis comes from partial results: every part of the axis gives a few numbers, and these,
 * joined, give the result. Written in ONNX's primitive operators on whole values; who computes which is lowering's.
 */
import type { Attribute } from '../../graph.ts';
import { type DataType, int64Tensor, type Tensor } from '../../tensor.ts';
import type { NodeView } from '../rule.ts';

export interface ValueWriter {
  /** Adds a node and returns its output's name. `dataType` is float32 unless said. */
  node(opType: string, inputs: readonly string[], shape: readonly number[], more?: NodeDetails): string;
  constant(tensor: Tensor): string;
}

export interface NodeDetails {
  readonly attributes?: Readonly<Record<string, Attribute>>;
  readonly dataType?: DataType;
  /** Otherwise a fresh name. */
  readonly output?: string;
}

/** One part of the divided axis. */
export interface AxisPart {
  /** The first input at these indices alone, in order, and its shape. */
  readonly value: string;
  readonly shape: readonly number[];
  readonly indices: readonly number[];
}

/** The partial results of all parts. */
export interface JoinedParts {
  /** One for each number that a part gives: shaped like `keptShape`, with one index a part along the divided axis. */
  readonly values: readonly string[];
  readonly parts: readonly (readonly number[])[];
  readonly axis: number;
}

export interface Statistics {
  /** Axes of the first input over which results are taken; undefined where a node's cannot be told from parts. */
  reducedAxes(view: NodeView): readonly number[] | undefined;
  /** Whether the output has the divided axis still, index for index, and can so be divided like the input. */
  readonly pointwise: boolean;
  /** What a part gives: values of `keptShape`. */
  partial(view: NodeView, part: AxisPart, write: ValueWriter): readonly string[];
  /** Writes the node's own output. */
  finish(view: NodeView, joined: JoinedParts, write: ValueWriter): void;
}

/** The first input's shape with a length of 1 along every reduced axis. */
export function keptShape(view: NodeView, reduced: readonly number[]): readonly number[] {
  return view.inputShape(0).map((length, axis) => (reduced.includes(axis) ? 1 : length));
}

/** A reduction that keeps its axes; only ReduceSum takes them as an input at opset 17. */
export function writeReduction(
  write: ValueWriter,
  opType: string,
  input: string,
  axes: readonly number[],
  shape: readonly number[],
): string {
  if (opType === 'ReduceSum') return write.node(opType, [input, write.constant(int64Tensor(axes))], shape);
  return write.node(opType, [input], shape, { attributes: { axes: { type: 'ints', value: axes } } });
}

/** Gives a result of `keptShape` the node's own output name, and its shape where that drops the reduced axes. */
export function writeReduced(
  view: NodeView,
  reduced: readonly number[],
  kept: string,
  write: ValueWriter,
  dataType: DataType = 'float32',
): void {
  const { outputShape, node } = view;
  const details = { output: node.outputs[0] ?? '', dataType };
  if (outputShape.length === view.inputShape(0).length) write.node('Identity', [kept], outputShape, details);
  else write.node('Squeeze', [kept, write.constant(int64Tensor(reduced))], outputShape, details);
}
