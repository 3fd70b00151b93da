/** Gradients of pooling. */
import { averagePoolAttributes, maxPoolAttributes } from '../../../../graph/attributes/windows.ts';
import { elementCount, float32Tensor } from '../../../../graph/tensor.ts';
import { type GradientRule, noGradient } from '../gradientRule.ts';
import { type GraphBuilder, int, ints, type Ref, string } from '../graphBuilder.ts';
import { type Window, windowOf } from './window.ts';

export const globalAveragePool: GradientRule = (context, dy) => [
  () => {
    const { shape } = context.input(0);
    const count = elementCount(shape.slice(2));
    return context.builder.expand(context.builder.scale(dy, 1 / count), shape);
  },
];

/** The gradient goes where the forward pass says that its maximum came from. */
export const maxPool: GradientRule = (context, dy) => [
  () => {
    if (maxPoolAttributes(context.node, dy.shape.length - 2).storageOrder !== 0)
      throw noGradient(context.node, 'column-major indices are not known here');
    const indices = context.furtherOutput(1, dy.shape, 'int64');
    return scatterAdd(context.builder, context.input(0).shape, indices, dy);
  },
];

export const averagePool: GradientRule = (context, dy) => [
  () => {
    const { node, builder: b } = context;
    const { shape } = context.input(0);
    const {
      ceilMode,
      countIncludePad: padsCount,
      kernelShape: kernel = [],
    } = averagePoolAttributes(node, shape.length - 2);
    const window = windowOf(node, kernel, shape.slice(2), dy.shape.slice(2));
    if (padsCount && ceilMode) throw noGradient(node, 'ceil_mode with count_include_pad is not known here');
    const shares = padsCount
      ? b.scale(dy, 1 / elementCount(kernel))
      : b.mul(dy, sharesOf(b, window, shape.slice(2), dy.shape.slice(2)));
    return tiles(window) ? repeat(b, shares, kernel, shape) : spread(b, shares, window, shape);
  },
];

/** One over the number of elements under each window position, those of the padding left out. */
function sharesOf(b: GraphBuilder, window: Window, wide: readonly number[], narrow: readonly number[]): Ref {
  const perAxis = narrow.map((positions, axis) =>
    Array.from({ length: positions }, (_, position) => {
      const start = position * (window.strides[axis] ?? 1) - (window.before[axis] ?? 0);
      const end = Math.min(start + (window.kernel[axis] ?? 1), wide[axis] ?? 0);
      return end - Math.max(0, start);
    }),
  );
  const counts = perAxis.reduce((product, axis) => product.flatMap((left) => axis.map((n) => left * n)), [1]);
  return b.constant(
    float32Tensor(
      narrow,
      counts.map((count) => 1 / count),
    ),
    'shares',
  );
}

function tiles({ kernel, strides, before, after }: Window): boolean {
  return kernel.every((k, axis) => k === strides[axis] && before[axis] === 0 && after[axis] === 0);
}

/** Windows side by side: every element of a window gets the same. */
function repeat(b: GraphBuilder, dy: Ref, kernel: readonly number[], shape: readonly number[]): Ref {
  const lead = dy.shape.slice(0, 2);
  const space = dy.shape.slice(2);
  const apart = b.reshape(dy, [...lead, ...space.flatMap((length) => [length, 1])]);
  const wide = [...lead, ...space.flatMap((length, axis) => [length, kernel[axis] ?? 1])];
  return b.reshape(b.expand(apart, wide), shape);
}

/** A transposed convolution of every channel with ones. */
function spread(b: GraphBuilder, dy: Ref, window: Window, shape: readonly number[]): Ref {
  const [n = 1, c = 1] = shape;
  const flat = b.reshape(dy, [n * c, 1, ...dy.shape.slice(2)]);
  const ones = b.constant(
    float32Tensor([1, 1, ...window.kernel], new Float32Array(elementCount(window.kernel)).fill(1)),
    'ones',
  );
  const full = dy.shape
    .slice(2)
    .map((length, axis) => (length - 1) * (window.strides[axis] ?? 1) + (window.kernel[axis] ?? 1));
  const wide = b.node('ConvTranspose', [flat, ones], { strides: ints(window.strides), group: int(1) }, [
    n * c,
    1,
    ...full,
  ]);
  const back = (amounts: readonly number[]): number[] => [0, 0, ...amounts.map((amount) => -amount)];
  return b.reshape(b.pad(wide, back(window.before), back(window.after)), shape);
}

/** Zeros of a shape, with the entries of `updates` added at flat positions. */
function scatterAdd(b: GraphBuilder, shape: readonly number[], indices: Ref, updates: Ref): Ref {
  const count = elementCount(updates.shape);
  const zeros = b.zeros([elementCount(shape)]);
  const flat = b.node(
    'ScatterElements',
    [zeros, b.reshapeIntegers(indices, [count]), b.reshape(updates, [count])],
    { axis: int(0), reduction: string('add') },
    zeros.shape,
  );
  return b.reshape(flat, shape);
}
