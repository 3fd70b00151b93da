/**
 * What an inference rule is: types and shapes of a node's outputs from those of its inputs, for every opset that Starling
 * reads. A rule says undefined wherever it is not certain what onnxruntime would make of the node: then it has to be run.
 */
import type { Node } from '../graph.ts';
import type { ShapedValue } from '../nodeView.ts';
import { positiveAxis } from '../ops/rule.ts';
import { readIntegers, type Tensor } from '../tensor.ts';

export interface InferenceView {
  readonly node: Node;
  /** Undefined where the node has no such input. */
  input(index: number): ShapedValue | undefined;
  /** The elements of an input that does not depend on the graph's inputs. */
  constant(index: number): Tensor | undefined;
}

/** One entry for each output, in their order. */
export type InferRule = (view: InferenceView) => readonly ShapedValue[] | undefined;

export const integerTypes: ReadonlySet<string> = new Set(['int32', 'int64']);

/** One output of the type of the first input; undefined for lengths that are none. */
export function outputLike(
  view: InferenceView,
  shape: readonly number[] | undefined,
): ShapedValue[] | undefined {
  const first = view.input(0);
  return first === undefined ? undefined : outputOf(first.dataType, shape);
}

export function outputOf(
  dataType: ShapedValue['dataType'],
  shape: readonly number[] | undefined,
): ShapedValue[] | undefined {
  if (shape === undefined || !shape.every((length) => Number.isSafeInteger(length) && length > 0))
    return undefined;
  return [{ dataType, shape }];
}

/** All inputs that are there have this type. */
export function allAre(view: InferenceView, dataType: ShapedValue['dataType']): boolean {
  return view.node.inputs.every((name, i) => name === '' || view.input(i)?.dataType === dataType);
}

/** A constant input of integers; undefined where it is absent or computed at run time. */
export function constantIntegers(view: InferenceView, index: number): readonly number[] | undefined {
  const tensor = view.constant(index);
  return tensor !== undefined && integerTypes.has(tensor.dataType) ? readIntegers(tensor) : undefined;
}

export function isAbsent(view: InferenceView, index: number): boolean {
  return (view.node.inputs[index] ?? '') === '';
}

/** From the start, or undefined where it is outside. */
export function axisOf(axis: number, rank: number): number | undefined {
  const positive = positiveAxis(axis, rank);
  return positive >= 0 && positive < rank ? positive : undefined;
}

/** Different axes from the start, or undefined where one is outside or named twice. */
export function axesOf(axes: readonly number[], rank: number): ReadonlySet<number> | undefined {
  const positive = new Set(axes.flatMap((axis) => axisOf(axis, rank) ?? []));
  return positive.size === axes.length ? positive : undefined;
}
