/** Reductions, what else runs along axes, and operators that make small tensors out of nothing. */
import { shapeAttributes } from '../attributes/moves.ts';
import { argReduceAttributes, reduceAttributes, topKAttributes } from '../attributes/reductions.ts';
import { constantOfShapeAttributes } from '../attributes/values.ts';
import type { Node } from '../graph.ts';
import { dataTypeBytes } from '../tensor.ts';
import {
  axesOf,
  axisOf,
  constantIntegers,
  type InferRule,
  integerTypes,
  isAbsent,
  outputLike,
  outputOf,
} from './inferRule.ts';

function reducedShape(
  shape: readonly number[],
  axes: ReadonlySet<number>,
  keepDims: boolean,
): readonly number[] {
  return keepDims
    ? shape.map((length, axis) => (axes.has(axis) ? 1 : length))
    : shape.filter((_, axis) => !axes.has(axis));
}

export const reduce: InferRule = (view) => {
  const { node } = view;
  const first = view.input(0);
  if (first === undefined || !(first.dataType === 'float32' || integerTypes.has(first.dataType)))
    return undefined;
  const { axes: given, keepdims, noopWithEmptyAxes } = reduceAttributes(node);
  const listed = given ?? constantIntegers(view, 1);
  if (listed === undefined && !isAbsent(view, 1)) return undefined;
  const { shape } = first;
  if ((listed ?? []).length === 0 && noopWithEmptyAxes) return outputLike(view, shape);
  const axes = axesOf(
    listed === undefined || listed.length === 0 ? shape.map((_, i) => i) : listed,
    shape.length,
  );
  return axes && outputLike(view, reducedShape(shape, axes, keepdims));
};

export const argReduce: InferRule = (view) => {
  const first = view.input(0);
  const { axis: given, keepdims } = argReduceAttributes(view.node);
  const axis = axisOf(given, first?.shape.length ?? 0);
  if (first?.dataType !== 'float32' || axis === undefined) return undefined;
  return outputOf('int64', reducedShape(first.shape, new Set([axis]), keepdims));
};

export const topK: InferRule = (view) => {
  const first = view.input(0);
  const attributes = topKAttributes(view.node);
  const axis = axisOf(attributes.axis, first?.shape.length ?? 0);
  const k = attributes.k ?? constantIntegers(view, 1)?.[0];
  if (
    first?.dataType !== 'float32' ||
    axis === undefined ||
    k === undefined ||
    k > (first.shape[axis] ?? 0)
  ) {
    return undefined;
  }
  const shape = first.shape.map((length, i) => (i === axis ? k : length));
  const values = outputOf('float32', shape);
  return values && [...values, { dataType: 'int64', shape }];
};

/** Along one axis, which is given as an input. */
export const cumSum: InferRule = (view) =>
  view.input(0)?.dataType === 'float32' ? outputLike(view, view.input(0)?.shape) : undefined;

/** Opset 15 may ask for some of the axes only. */
export const shapeOf: InferRule = (view) => {
  const rank = view.input(0)?.shape.length;
  return rank === undefined
    ? undefined
    : [{ dataType: 'int64', shape: [shapeSlice(view.node, rank).length] }];
};

/** The axes that a Shape node asks for. */
export function shapeSlice(node: Node, rank: number): readonly number[] {
  const { start, end } = shapeAttributes(node, rank);
  return Array.from({ length: rank }, (_, axis) => axis).slice(start, end);
}

export const sizeOf: InferRule = () => [{ dataType: 'int64', shape: [] }];

export const constantOfShape: InferRule = (view) => {
  const { dataType } = constantOfShapeAttributes(view.node).value;
  return dataType in dataTypeBytes ? outputOf(dataType, constantIntegers(view, 0)) : undefined;
};

export const range: InferRule = (view) => {
  const [start, limit, delta] = [0, 1, 2].map((i) => constantIntegers(view, i)?.[0]);
  if (start === undefined || limit === undefined || delta === undefined || delta === 0) return undefined;
  return outputLike(view, [Math.ceil((limit - start) / delta)]);
};
