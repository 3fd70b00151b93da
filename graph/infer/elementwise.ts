/** Operators whose output is as large as their inputs, which are broadcast against each other. */

import { castAttributes } from '../attributes/elementwise.ts';
import { batchNormalizationAttributes } from '../attributes/normalisations.ts';
import { dataTypeOfCode } from '../dataTypeCodes.ts';
import {
  allAre,
  type InferenceView,
  type InferRule,
  integerTypes,
  isAbsent,
  outputLike,
  outputOf,
} from './inferRule.ts';

/** NumPy's rule; undefined where lengths do not fit. */
export function broadcastShape(shapes: readonly (readonly number[])[]): readonly number[] | undefined {
  const rank = Math.max(0, ...shapes.map(({ length }) => length));
  const result: number[] = [];
  for (let axis = 0; axis < rank; axis++) {
    const lengths = shapes.map((shape) => shape[shape.length - rank + axis] ?? 1);
    const length = lengths.find((one) => one !== 1) ?? 1;
    if (lengths.some((one) => one !== 1 && one !== length)) return undefined;
    result.push(length);
  }
  return result;
}

function inputShapes({ node, input }: InferenceView): readonly (readonly number[])[] {
  return node.inputs.flatMap((name, i) => {
    const value = name === '' ? undefined : input(i);
    return value === undefined ? [] : [value.shape];
  });
}

/** One input that matters; parameters beside it are single numbers or one for each channel. */
export const likeFirst: InferRule = (view) =>
  view.node.outputs.length === 1 && allAre(view, 'float32')
    ? outputLike(view, view.input(0)?.shape)
    : undefined;

/** Only moves elements, of whatever type. */
export const identity: InferRule = (view) => outputLike(view, view.input(0)?.shape);

/** The mask that training has is not counted on. */
export const dropout: InferRule = (view) =>
  view.node.outputs.length === 1 && view.input(0)?.dataType === 'float32' && isAbsent(view, 2)
    ? outputLike(view, view.input(0)?.shape)
    : undefined;

export const floatBroadcast: InferRule = (view) =>
  allAre(view, 'float32') ? outputLike(view, broadcastShape(inputShapes(view))) : undefined;

/** onnxruntime has Add, Sub, Mul and Div for integers too. */
export const arithmetic: InferRule = (view) => {
  const dataType = view.input(0)?.dataType;
  if (
    dataType === undefined ||
    !(dataType === 'float32' || dataType === 'float64' || integerTypes.has(dataType))
  )
    return undefined;
  return allAre(view, dataType) ? outputLike(view, broadcastShape(inputShapes(view))) : undefined;
};

/** The slope is stretched to the input, never the other way round. */
export const pRelu: InferRule = (view) => {
  const shape = view.input(0)?.shape;
  const broadcast = broadcastShape(inputShapes(view));
  return allAre(view, 'float32') && broadcast?.join() === shape?.join() ? outputLike(view, shape) : undefined;
};

export const comparison: InferRule = (view) => {
  const dataType = view.input(0)?.dataType;
  if (dataType === undefined || !(dataType === 'float32' || integerTypes.has(dataType))) return undefined;
  return allAre(view, dataType) ? outputOf('bool', broadcastShape(inputShapes(view))) : undefined;
};

export const logical: InferRule = (view) =>
  allAre(view, 'bool') ? outputOf('bool', broadcastShape(inputShapes(view))) : undefined;

export const floatTest: InferRule = (view) =>
  allAre(view, 'float32') ? outputOf('bool', view.input(0)?.shape) : undefined;

export const where: InferRule = (view) => {
  const [condition, yes, no] = [0, 1, 2].map((i) => view.input(i)?.dataType);
  if (
    condition !== 'bool' ||
    yes === undefined ||
    yes !== no ||
    !(yes === 'float32' || integerTypes.has(yes))
  ) {
    return undefined;
  }
  return outputOf(yes, broadcastShape(inputShapes(view)));
};

const castable: ReadonlySet<string> = new Set(['float32', 'int32', 'int64', 'bool', 'uint8', 'int8']);

export const cast: InferRule = (view) => {
  const to = dataTypeOfCode(castAttributes(view.node).to);
  const from = view.input(0)?.dataType ?? '';
  if (to === undefined || !castable.has(to) || !castable.has(from)) return undefined;
  return outputOf(to, view.input(0)?.shape);
};

/** Statistics of a training mode are not counted on. */
export const batchNormalization: InferRule = (view) => {
  const { spatial, trainingMode } = batchNormalizationAttributes(view.node);
  return spatial && !trainingMode ? likeFirst(view) : undefined;
};
