/** Convolutions and pools: the lengths of their outputs, of float32 and quantised ones. */
import {
  convAttributes,
  convTransposeAttributes,
  type WindowAttributes,
  windowAttributes,
} from '../attributes/windows.ts';
import { allAre, type InferenceView, type InferRule, outputLike, outputOf } from './inferRule.ts';

/** Steps that a window of this many inputs can take along each spatial axis. */
function windowLengths(
  lengths: readonly number[],
  kernel: readonly number[],
  { autoPad, ceilMode, dilations, pads, strides }: WindowAttributes,
): readonly number[] | undefined {
  const rank = lengths.length;
  if (
    kernel.length !== rank ||
    pads.length !== 2 * rank ||
    strides.length !== rank ||
    dilations.length !== rank
  ) {
    return undefined;
  }
  return lengths.map((length, i) => {
    const [stride = 1, dilation = 1] = [strides[i], dilations[i]];
    if (autoPad === 'SAME_UPPER' || autoPad === 'SAME_LOWER')
      return dilation === 1 ? Math.ceil(length / stride) : 0;
    const [begin, end] = autoPad === 'VALID' ? [0, 0] : [pads[i] ?? 0, pads[i + rank] ?? 0];
    const steps = (length + begin + end - dilation * ((kernel[i] ?? 1) - 1) - 1) / stride;
    if (!ceilMode) return Math.floor(steps) + 1;
    // A window that would begin behind the image and its padding before it is none.
    const rounded = Math.ceil(steps) + 1;
    return (rounded - 1) * stride >= length + begin ? rounded - 1 : rounded;
  });
}

/** [N, C, ...] and [M, C / group, ...] give [N, M, ...]. */
function convolved(view: InferenceView, weight: number): readonly number[] | undefined {
  const [image, filter] = [view.input(0)?.shape, view.input(weight)?.shape];
  if (image === undefined || filter === undefined || image.length < 3 || image.length !== filter.length)
    return undefined;
  const [batch = 0, channels = 0, ...lengths] = image;
  const [outputs = 0, perGroup = 0, ...kernel] = filter;
  const attributes = convAttributes(view.node, lengths.length);
  const stated = attributes.kernelShape ?? kernel;
  const { group } = attributes;
  if (stated.join() !== kernel.join() || perGroup * group !== channels || outputs % group !== 0)
    return undefined;
  const spatial = windowLengths(lengths, kernel, attributes);
  return spatial && [batch, outputs, ...spatial];
}

export const conv: InferRule = (view) => {
  const bias = view.input(2)?.shape;
  if (!allAre(view, 'float32') || (bias !== undefined && bias.join() !== `${view.input(1)?.shape[0]}`))
    return undefined;
  return outputLike(view, convolved(view, 1));
};

export const convInteger: InferRule = (view) => outputOf('int32', convolved(view, 1));

export const qLinearConv: InferRule = (view) => {
  const zeroPoint = view.input(7);
  return zeroPoint && outputOf(zeroPoint.dataType, convolved(view, 3));
};

export const convTranspose: InferRule = (view) => {
  const [image, filter] = [view.input(0)?.shape, view.input(1)?.shape];
  if (image === undefined || filter === undefined || image.length < 3 || image.length !== filter.length)
    return undefined;
  const [batch = 0, channels, ...lengths] = image;
  const [inputs, perGroup = 0, ...kernel] = filter;
  const attributes = convTransposeAttributes(view.node, lengths.length);
  const { autoPad, dilations, group, outputPadding, outputShape, pads, strides } = attributes;
  const stated = attributes.kernelShape ?? kernel;
  if (!allAre(view, 'float32') || channels !== inputs || stated.join() !== kernel.join()) return undefined;
  if (outputShape !== undefined && outputShape.length !== lengths.length) return undefined;
  const spatial = lengths.map((length, i) => {
    if (outputShape !== undefined) return outputShape[i] ?? 0;
    if (autoPad.startsWith('SAME')) return length * (strides[i] ?? 1);
    const padded = autoPad === 'VALID' ? 0 : (pads[i] ?? 0) + (pads[i + lengths.length] ?? 0);
    const window = (dilations[i] ?? 1) * ((kernel[i] ?? 1) - 1) + 1;
    return (strides[i] ?? 1) * (length - 1) + (outputPadding[i] ?? 0) + window - padded;
  });
  return outputLike(view, [batch, perGroup * group, ...spatial]);
};

export const pool: InferRule = (view) => {
  const { node } = view;
  const [batch = 0, channels = 0, ...lengths] = view.input(0)?.shape ?? [];
  const attributes = windowAttributes(node, lengths.length);
  const { kernelShape } = attributes;
  if (
    kernelShape === undefined ||
    lengths.length === 0 ||
    node.outputs.length > 1 ||
    !allAre(view, 'float32')
  ) {
    return undefined;
  }
  const spatial = windowLengths(lengths, kernelShape, attributes);
  return spatial && outputLike(view, [batch, channels, ...spatial]);
};

export const globalPool: InferRule = (view) => {
  const shape = view.input(0)?.shape ?? [];
  return shape.length >= 3 && allAre(view, 'float32')
    ? outputLike(
        view,
        shape.map((length, axis) => (axis < 2 ? length : 1)),
      )
    : undefined;
};
