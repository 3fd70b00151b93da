/** Resize of every opset, and Upsample, which came before it: lengths from scales or given outright. */
import { resizeAttributes, upsampleAttributes } from '../attributes/resize.ts';
import { float32View, type Tensor } from '../tensor.ts';
import { axesOf, constantIntegers, type InferRule, isAbsent, outputLike } from './inferRule.ts';

function floatsOf(tensor: Tensor | undefined): readonly number[] | undefined {
  return tensor?.dataType === 'float32' ? [...float32View(tensor)] : undefined;
}

/** As onnxruntime multiplies them: in single precision, and cut off. */
function scaled(
  shape: readonly number[],
  scales: readonly number[] | undefined,
): readonly number[] | undefined {
  if (scales?.length !== shape.length) return undefined;
  return shape.map((length, axis) => Math.floor(Math.fround(length * (scales[axis] ?? 0))));
}

export const upsample: InferRule = (view) => {
  const first = view.input(0);
  if (first?.dataType !== 'float32') return undefined;
  const scales = upsampleAttributes(view.node).scales?.map(Math.fround) ?? floatsOf(view.constant(1));
  return outputLike(view, scaled(first.shape, scales));
};

export const resize: InferRule = (view) => {
  const { node } = view;
  const first = view.input(0);
  const { axes, coordinateTransformationMode, keepAspectRatioPolicy } = resizeAttributes(node);
  if (first?.dataType !== 'float32' || keepAspectRatioPolicy !== 'stretch') return undefined;
  if (coordinateTransformationMode === 'tf_crop_and_resize') return undefined;
  const { shape } = first;
  // Until opset 10 there were two inputs.
  if (node.inputs.length === 2) return outputLike(view, scaled(shape, floatsOf(view.constant(1))));
  const listed = axesOf(axes ?? shape.map((_, axis) => axis), shape.length);
  const sizes = isAbsent(view, 3) ? undefined : constantIntegers(view, 3);
  const scales = isAbsent(view, 3) ? floatsOf(view.constant(2)) : undefined;
  const given = sizes ?? scales;
  if (listed === undefined || given?.length !== listed.size) return undefined;
  const places = [...listed];
  const each = (others: readonly number[]) =>
    others.map((other, axis) => given[places.indexOf(axis)] ?? other);
  return outputLike(view, sizes === undefined ? scaled(shape, each(shape.map(() => 1))) : each(shape));
};

/** [N, C, H, W] at the points of a grid [N, H', W', 2]. */
export const gridSample: InferRule = (view) => {
  const [image, grid] = [view.input(0), view.input(1)?.shape];
  if (image?.dataType !== 'float32' || image.shape.length !== 4 || grid?.length !== 4) return undefined;
  return outputLike(view, [...image.shape.slice(0, 2), ...grid.slice(1, 3)]);
};
