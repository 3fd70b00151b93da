/** Operators that only move elements: their outputs have the type of their first input, whatever it is. */
import {
  concatAttributes,
  depthToSpaceAttributes,
  flattenAttributes,
  gatherAttributes,
  padAttributes,
  reshapeAttributes,
  sliceAttributes,
  spaceToDepthAttributes,
  splitAttributes,
  squeezeAttributes,
  transposeAttributes,
  unsqueezeAttributes,
} from '../attributes/moves.ts';
import { sliceBounds } from '../ops/slice.ts';
import { elementCount } from '../tensor.ts';
import { broadcastShape } from './elementwise.ts';
import {
  axesOf,
  axisOf,
  constantIntegers,
  type InferenceView,
  type InferRule,
  isAbsent,
  outputLike,
} from './inferRule.ts';

/** An attribute in older opsets, an input in newer ones. */
function attributeOrInput(
  view: InferenceView,
  attribute: readonly number[] | undefined,
  index: number,
): readonly number[] | undefined {
  return attribute ?? constantIntegers(view, index);
}

export const reshape: InferRule = (view) => {
  const [from, target] = [view.input(0)?.shape, constantIntegers(view, 1)];
  if (from === undefined || target === undefined || reshapeAttributes(view.node).allowzero) return undefined;
  const shape = target.map((length, i) => (length === 0 ? (from[i] ?? 0) : length));
  const open = shape.indexOf(-1);
  if (open >= 0) shape[open] = elementCount(from) / elementCount(shape.filter((_, i) => i !== open));
  return elementCount(shape) === elementCount(from) ? outputLike(view, shape) : undefined;
};

export const flatten: InferRule = (view) => {
  const shape = view.input(0)?.shape ?? [];
  const { axis: given } = flattenAttributes(view.node);
  const axis = given === shape.length ? given : axisOf(given, shape.length);
  if (axis === undefined) return undefined;
  return outputLike(view, [elementCount(shape.slice(0, axis)), elementCount(shape.slice(axis))]);
};

export const squeeze: InferRule = (view) => {
  const shape = view.input(0)?.shape ?? [];
  const listed = attributeOrInput(view, squeezeAttributes(view.node).axes, 1);
  if (listed === undefined) {
    return isAbsent(view, 1)
      ? outputLike(
          view,
          shape.filter((length) => length !== 1),
        )
      : undefined;
  }
  const axes = axesOf(listed, shape.length);
  if (axes === undefined || [...axes].some((axis) => shape[axis] !== 1)) return undefined;
  return outputLike(
    view,
    shape.filter((_, axis) => !axes.has(axis)),
  );
};

export const unsqueeze: InferRule = (view) => {
  const shape = view.input(0)?.shape;
  const listed = attributeOrInput(view, unsqueezeAttributes(view.node).axes, 1);
  if (shape === undefined || listed === undefined) return undefined;
  const rank = shape.length + listed.length;
  const axes = axesOf(listed, rank);
  if (axes === undefined) return undefined;
  const rest = [...shape];
  return outputLike(
    view,
    Array.from({ length: rank }, (_, axis) => (axes.has(axis) ? 1 : (rest.shift() ?? 0))),
  );
};

export const transpose: InferRule = (view) => {
  const shape = view.input(0)?.shape ?? [];
  const { perm: order } = transposeAttributes(view.node, shape.length);
  if (order.length !== shape.length || axesOf(order, shape.length) === undefined) return undefined;
  return outputLike(
    view,
    order.map((axis) => shape[axis] ?? 0),
  );
};

export const concat: InferRule = (view) => {
  const inputs = view.node.inputs.map((_, i) => view.input(i));
  const [first] = inputs;
  const axis = axisOf(concatAttributes(view.node).axis, first?.shape.length ?? 0);
  if (first === undefined || axis === undefined) return undefined;
  const others = (shape: readonly number[]) => shape.map((length, i) => (i === axis ? 0 : length)).join();
  const alike = inputs.every(
    (one) => one?.dataType === first.dataType && others(one.shape) === others(first.shape),
  );
  if (!alike) return undefined;
  const length = inputs.reduce((sum, one) => sum + (one?.shape[axis] ?? 0), 0);
  return outputLike(
    view,
    first.shape.map((own, i) => (i === axis ? length : own)),
  );
};

export const split: InferRule = (view) => {
  const first = view.input(0);
  const attributes = splitAttributes(view.node);
  const axis = axisOf(attributes.axis, first?.shape.length ?? 0);
  if (first === undefined || axis === undefined) return undefined;
  const count = view.node.outputs.length;
  const whole = first.shape[axis] ?? 0;
  const listed = attributeOrInput(view, attributes.split, 1);
  if (listed === undefined && !isAbsent(view, 1)) return undefined;
  // Where they are not alike, opset 18 gives the last one what is left.
  if (listed === undefined && whole % count !== 0) return undefined;
  const lengths = listed ?? new Array<number>(count).fill(whole / count);
  if (
    lengths.length !== count ||
    lengths.reduce((a, b) => a + b, 0) !== whole ||
    lengths.some((length) => length < 1)
  ) {
    return undefined;
  }
  return lengths.map((length) => ({
    dataType: first.dataType,
    shape: first.shape.map((own, i) => (i === axis ? length : own)),
  }));
};

export interface SliceRange {
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/** What a Slice takes along each axis; undefined where bounds are computed at run time. */
export function sliceRanges(view: InferenceView): readonly SliceRange[] | undefined {
  const shape = view.input(0)?.shape;
  const attributes = sliceAttributes(view.node);
  const starts = attributeOrInput(view, attributes.starts, 1);
  const ends = attributeOrInput(view, attributes.ends, 2);
  if (shape === undefined || starts === undefined || ends === undefined || starts.length !== ends.length)
    return undefined;
  const axes = attributes.axes ?? (isAbsent(view, 3) ? starts.map((_, i) => i) : constantIntegers(view, 3));
  const steps = isAbsent(view, 4) ? starts.map(() => 1) : constantIntegers(view, 4);
  if (axes?.length !== starts.length || steps?.length !== starts.length) return undefined;
  if (axesOf(axes, shape.length) === undefined || steps.includes(0)) return undefined;
  const ranges = shape.map((length): SliceRange => ({ start: 0, step: 1, count: length }));
  axes.forEach((given, i) => {
    const axis = axisOf(given, shape.length) ?? 0;
    const length = shape[axis] ?? 0;
    const step = steps[i] ?? 1;
    const { start, end } = sliceBounds(starts[i] ?? 0, ends[i] ?? 0, step, length);
    ranges[axis] = { start, step, count: Math.max(0, Math.ceil((end - start) / step)) };
  });
  return ranges;
}

export const slice: InferRule = (view) =>
  outputLike(
    view,
    sliceRanges(view)?.map(({ count }) => count),
  );

export const gather: InferRule = (view) => {
  const [shape = [], indices] = [view.input(0)?.shape, view.input(1)?.shape];
  const axis = axisOf(gatherAttributes(view.node).axis, shape.length);
  if (axis === undefined || indices === undefined) return undefined;
  return outputLike(view, [...shape.slice(0, axis), ...indices, ...shape.slice(axis + 1)]);
};

export const gatherElements: InferRule = (view) => outputLike(view, view.input(1)?.shape);

export const pad: InferRule = (view) => {
  const shape = view.input(0)?.shape ?? [];
  const attributes = padAttributes(view.node);
  const pads = attributeOrInput(view, attributes.pads, 1);
  // Opset 18 may list the axes.
  if (pads?.length !== 2 * shape.length || !isAbsent(view, 3)) return undefined;
  const [dataType] = [view.input(0)?.dataType];
  if (dataType !== 'float32' && dataType !== 'int64' && dataType !== 'int32') return undefined;
  const reflects = attributes.mode === 'reflect';
  const fits = shape.every((length, i) =>
    [i, i + shape.length].every((at) => !reflects || (pads[at] ?? 0) < length),
  );
  return fits
    ? outputLike(
        view,
        shape.map((length, i) => length + (pads[i] ?? 0) + (pads[i + shape.length] ?? 0)),
      )
    : undefined;
};

export const tile: InferRule = (view) => {
  const [shape = [], repeats] = [view.input(0)?.shape, constantIntegers(view, 1)];
  if (repeats?.length !== shape.length) return undefined;
  return outputLike(
    view,
    shape.map((length, i) => length * (repeats[i] ?? 0)),
  );
};

export const expand: InferRule = (view) => {
  const [shape = [], target] = [view.input(0)?.shape, constantIntegers(view, 1)];
  return target && outputLike(view, broadcastShape([shape, target]));
};

export const depthToSpace: InferRule = (view) => {
  const { blocksize: size } = depthToSpaceAttributes(view.node);
  const [batch = 0, channels = 0, height = 0, width = 0, ...more] = view.input(0)?.shape ?? [];
  if (more.length > 0 || view.input(0)?.dataType !== 'float32') return undefined;
  return outputLike(view, [batch, channels / size ** 2, height * size, width * size]);
};

export const spaceToDepth: InferRule = (view) => {
  const { blocksize: size } = spaceToDepthAttributes(view.node);
  const [batch = 0, channels = 0, height = 0, width = 0, ...more] = view.input(0)?.shape ?? [];
  if (more.length > 0 || view.input(0)?.dataType !== 'float32') return undefined;
  return outputLike(view, [batch, channels * size ** 2, height / size, width / size]);
};
