/**
 * Gradients of convolutions over one or two axes, written so that onnxruntime's fast kernels apply: by the input as
 * a convolution with flipped weights, by the weights as a convolution of the input with the gradient.
 */
import { convAttributes, convTransposeAttributes } from '../../../../graph/attributes/windows.ts';
import { type GradientRule, noGradient } from '../gradientRule.ts';
import { type GraphBuilder, int, ints, type Ref } from '../graphBuilder.ts';
import { weightGradient } from './weightGradient.ts';
import { type Window, windowOf } from './window.ts';

export const conv: GradientRule = (context, dy) => {
  const { node, builder: b } = context;
  const [x, w] = [context.input(0), context.input(1)];
  const { group } = convAttributes(node, x.shape.length - 2);
  if (x.shape.length < 3 || x.shape.length > 4)
    throw noGradient(node, `convolutions over ${x.shape.length - 2} axes are not known here`);
  const window = windowOf(node, w.shape.slice(2), x.shape.slice(2), dy.shape.slice(2));
  return [
    () => inputGradient(b, dy, w, window, group, x.shape),
    () => weightGradient(b, x, dy, w.shape, window, group),
    () => biasGradient(b, dy),
  ];
};

/** y = convTranspose(x, w): the roles of input and output are exchanged. */
export const convTranspose: GradientRule = (context, dy) => {
  const { node, builder: b } = context;
  const [x, w] = [context.input(0), context.input(1)];
  const { group } = convTransposeAttributes(node, x.shape.length - 2);
  if (x.shape.length < 3 || x.shape.length > 4)
    throw noGradient(node, `convolutions over ${x.shape.length - 2} axes are not known here`);
  const window = windowOf(node, w.shape.slice(2), dy.shape.slice(2), x.shape.slice(2));
  return [
    () => convolve(b, dy, w, window, group, x.shape),
    () => weightGradient(b, dy, x, w.shape, window, group),
    () => biasGradient(b, dy),
  ];
};

function biasGradient(b: GraphBuilder, dy: Ref): Ref {
  return b.reduceSum(
    dy,
    dy.shape.map((_, axis) => axis).filter((axis) => axis !== 1),
    false,
  );
}

/** A convolution whose padding may be negative (then the input is cut). */
function convolve(
  b: GraphBuilder,
  x: Ref,
  w: Ref,
  window: Window,
  group: number,
  shape: readonly number[],
): Ref {
  const cut = (amounts: readonly number[]): number[] => [0, 0, ...amounts.map((n) => Math.min(0, n))];
  const keep = (amounts: readonly number[]): number[] => amounts.map((n) => Math.max(0, n));
  return b.node(
    'Conv',
    [b.pad(x, cut(window.before), cut(window.after)), w],
    {
      dilations: ints(window.dilations),
      group: int(group),
      kernel_shape: ints(window.kernel),
      pads: ints([...keep(window.before), ...keep(window.after)]),
      strides: ints(window.strides),
    },
    shape,
  );
}

function inputGradient(
  b: GraphBuilder,
  dy: Ref,
  w: Ref,
  window: Window,
  group: number,
  shape: readonly number[],
): Ref {
  const { kernel, strides, dilations, before, after } = window;
  if (strides.every((stride) => stride === 1)) {
    const rest = (amounts: readonly number[]): number[] =>
      amounts.map((amount, axis) => (dilations[axis] ?? 1) * ((kernel[axis] ?? 1) - 1) - amount);
    const turned = { kernel, strides, dilations, before: rest(before), after: rest(after) };
    return convolve(b, dy, flipped(b, w, group), turned, group, shape);
  }
  const full = dy.shape
    .slice(2)
    .map(
      (length, axis) =>
        (length - 1) * (strides[axis] ?? 1) + ((kernel[axis] ?? 1) - 1) * (dilations[axis] ?? 1) + 1,
    );
  const wide = b.node(
    'ConvTranspose',
    [dy, w],
    { dilations: ints(dilations), group: int(group), kernel_shape: ints(kernel), strides: ints(strides) },
    [shape[0] ?? 1, shape[1] ?? 1, ...full],
  );
  const back = (amounts: readonly number[]): number[] => [0, 0, ...amounts.map((amount) => -amount)];
  return b.pad(wide, back(before), back(after));
}

/** [out, in / g, k...] to [in, out / g, k reversed...]. */
function flipped(b: GraphBuilder, w: Ref, group: number): Ref {
  const [out = 1, inputs = 1, ...kernel] = w.shape;
  const axes = kernel.map((_, axis) => axis + 2).filter((axis) => (w.shape[axis] ?? 1) > 1);
  const reversed =
    axes.length === 0
      ? w
      : b.slice(
          w,
          axes,
          axes.map((axis) => (w.shape[axis] ?? 1) - 1),
          axes.map(() => -Infinity),
          axes.map(() => -1),
        );
  const grouped = b.reshape(reversed, [group, out / group, inputs, ...kernel]);
  const turned = b.transpose(grouped, [0, 2, 1, ...kernel.map((_, axis) => axis + 3)]);
  return b.reshape(turned, [group * inputs, out / group, ...kernel]);
}
