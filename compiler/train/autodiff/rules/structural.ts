/** Gradients of operators that only move elements. */
import {
  concatAttributes,
  depthToSpaceAttributes,
  gatherAttributes,
  padAttributes,
  transposeAttributes,
} from '../../../../graph/attributes/moves.ts';
import { positiveAxis } from '../../../../graph/ops/rule.ts';
import { readIntegers } from '../../../../graph/tensor.ts';
import { type GradientRule, type NodeContext, noGradient } from '../gradientRule.ts';
import type { GraphBuilder, Ref } from '../graphBuilder.ts';

/** Reshape, Flatten, Squeeze, Unsqueeze: the same elements in the same order. */
export const reshape: GradientRule = (context, dy) => [
  () => context.builder.reshape(dy, context.input(0).shape),
  null,
];

export const transpose: GradientRule = (context, dy) => [
  () => {
    const { perm } = transposeAttributes(context.node, dy.shape.length);
    return context.builder.transpose(
      dy,
      perm.map((_, axis) => perm.indexOf(axis)),
    );
  },
];

export const expand: GradientRule = (context, dy) => [
  () => context.builder.sumTo(dy, context.input(0).shape),
  null,
];

export const concat: GradientRule = (context, dy) => {
  const { node, builder: b } = context;
  const axis = positiveAxis(concatAttributes(node).axis, dy.shape.length);
  let position = 0;
  return node.inputs.map((_, i) => {
    const start = position;
    position += context.input(i).shape[axis] ?? 0;
    const end = position;
    return () => b.slice(dy, [axis], [start], [end]);
  });
};

/** Zeros go back where the slice took nothing; a step leaves zeros between. */
export const slice: GradientRule = (context, dy) => [
  () => {
    const { shape } = context.input(0);
    const starts = integersOf(context, 1, []);
    const axes = integersOf(
      context,
      3,
      starts.map((_, axis) => axis),
    );
    const steps = integersOf(
      context,
      4,
      starts.map(() => 1),
    );
    return axes.reduce((gradient, listed, i) => {
      const axis = positiveAxis(listed, shape.length);
      return unslice(context.builder, gradient, axis, shape[axis] ?? 0, starts[i] ?? 0, steps[i] ?? 1);
    }, dy);
  },
  null,
  null,
  null,
  null,
];

function unslice(b: GraphBuilder, dy: Ref, axis: number, length: number, from: number, step: number): Ref {
  const count = dy.shape[axis] ?? 0;
  if (count === 0) return b.zeros(dy.shape.map((size, i) => (i === axis ? length : size)));
  const wrapped = from < 0 ? from + length : from;
  const start = Math.min(Math.max(wrapped, 0), step < 0 ? length - 1 : length);
  const lowest = step < 0 ? start + step * (count - 1) : start;
  const forward = step < 0 ? b.slice(dy, [axis], [count - 1], [-Infinity], [-1]) : dy;
  const stretched = stretch(b, forward, axis, Math.abs(step));
  return padAxis(b, stretched, axis, lowest, length - lowest - (stretched.shape[axis] ?? 0));
}

/** Puts step - 1 zeros after each element along an axis. */
function stretch(b: GraphBuilder, x: Ref, axis: number, step: number): Ref {
  if (step === 1) return x;
  const apart = b.reshape(x, [...x.shape.slice(0, axis + 1), 1, ...x.shape.slice(axis + 1)]);
  const padded = padAxis(b, apart, axis + 1, 0, step - 1);
  return b.reshape(
    padded,
    x.shape.map((length, i) => (i === axis ? length * step : length)),
  );
}

function padAxis(b: GraphBuilder, x: Ref, axis: number, before: number, after: number): Ref {
  const amounts = (amount: number): number[] => x.shape.map((_, i) => (i === axis ? amount : 0));
  return b.pad(x, amounts(before), amounts(after));
}

export const pad: GradientRule = (context, dy) => [
  () => {
    const { node, builder: b } = context;
    const { mode } = padAttributes(node);
    if (mode !== 'constant')
      throw noGradient(node, `only padding with a constant has a gradient here, not "${mode}"`);
    const pads = integersOf(context, 1, []);
    const rank = dy.shape.length;
    const axes = pads.length === 2 * rank ? dy.shape.map((_, axis) => axis) : undefined;
    if (axes === undefined) throw noGradient(node, `${2 * rank} amounts of padding are expected`);
    const back = (offset: number): number[] => axes.map((axis) => -(pads[offset + axis] ?? 0));
    return b.pad(dy, back(0), back(rank));
  },
  null,
  null,
];

/** Rows (along the axis) are added back to where they were taken from, as often as they were. */
export const gather: GradientRule = (context, dy) => [
  () => {
    const { node, builder: b } = context;
    const { shape } = context.input(0);
    const indices = context.input(1);
    const axis = positiveAxis(gatherAttributes(node).axis, shape.length);
    const rank = indices.shape.length;
    // The gathered axes first, as ScatterND indexes.
    const indexAxes = indices.shape.map((_, i) => axis + i);
    const others = dy.shape.map((_, i) => i).filter((i) => !indexAxes.includes(i));
    const updates = b.transpose(dy, [...indexAxes, ...others]);
    const rest = shape.filter((_, i) => i !== axis);
    const target = [shape[axis] ?? 0, ...rest];
    const listed = b.reshapeIntegers(indices, [...indices.shape, 1]);
    const scattered = b.node(
      'ScatterND',
      [b.zeros(target), listed, updates],
      { reduction: { type: 'string', value: 'add' } },
      target,
    );
    const order = [...rest.keys()].map((i) => i + 1);
    order.splice(axis, 0, 0);
    return rank === 0 && axis === 0 ? scattered : b.transpose(scattered, order);
  },
  null,
];

export const depthToSpace: GradientRule = (context, dy) => [
  () => {
    const { node, builder: b } = context;
    const { shape } = context.input(0);
    const { blocksize: block, mode } = depthToSpaceAttributes(node);
    const [n = 1, c = 1, h = 1, w = 1] = shape;
    const apart = b.reshape(dy, [n, c / block ** 2, h, block, w, block]);
    // DCR: blocks lead the channels; CRD: they follow them.
    const crd = mode === 'CRD';
    return b.reshape(b.transpose(apart, crd ? [0, 1, 3, 5, 2, 4] : [0, 3, 5, 1, 2, 4]), shape);
  },
];

function integersOf(context: NodeContext, index: number, fallback: readonly number[]): readonly number[] {
  if (!context.has(index)) return fallback;
  const tensor = context.constant(index);
  if (tensor !== undefined) return readIntegers(tensor);
  throw noGradient(context.node, `its input ${index} is computed at run time; make it constant`);
}
