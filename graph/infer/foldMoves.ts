/** What nodes that only move elements make of constants, of whatever type and size. Bytes are copied, never read as numbers. */
import { concatAttributes, gatherAttributes, transposeAttributes } from '../attributes/moves.ts';
import type { ShapedValue } from '../nodeView.ts';
import { dataTypeBytes, elementCount, readIntegers, type Tensor } from '../tensor.ts';
import { axisOf, type InferenceView } from './inferRule.ts';
import { sliceRanges } from './moves.ts';

/** `output` is what the node's only output is known to be. */
export type Fold = (view: InferenceView, output: ShapedValue) => Tensor | undefined;

/** The output's elements by the positions in the input from which they come. */
function moved(
  tensor: Tensor | undefined,
  { shape }: ShapedValue,
  source: (at: readonly number[]) => number,
): Tensor | undefined {
  if (tensor === undefined || tensor.dataType === 'string') return undefined;
  const bytes = dataTypeBytes[tensor.dataType];
  const data = new Uint8Array(elementCount(shape) * bytes);
  const at = shape.map(() => 0);
  for (let position = 0; position < data.length; position += bytes) {
    const from = source(at) * bytes;
    for (let byte = 0; byte < bytes; byte++) data[position + byte] = tensor.data[from + byte] ?? 0;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const next = (at[axis] ?? 0) + 1;
      at[axis] = next === shape[axis] ? 0 : next;
      if (at[axis] !== 0) break;
    }
  }
  return { dataType: tensor.dataType, dims: shape, data };
}

export function stridesOf(dims: readonly number[]): readonly number[] {
  return dims.map((_, axis) => elementCount(dims.slice(axis + 1)));
}

/** Position of a broadcast input's element. */
export function broadcastPosition(dims: readonly number[], rank: number): (at: readonly number[]) => number {
  const strides = stridesOf(dims);
  return (at) =>
    dims.reduce(
      (sum, length, i) => sum + (length === 1 ? 0 : (at[i + rank - dims.length] ?? 0) * (strides[i] ?? 0)),
      0,
    );
}

export const transpose: Fold = (view, output) => {
  const tensor = view.constant(0);
  const rank = output.shape.length;
  const { perm: order } = transposeAttributes(view.node, rank);
  const strides = stridesOf(tensor?.dims ?? []);
  const steps = order.map((axis) => strides[axis] ?? 0);
  return moved(tensor, output, (at) => steps.reduce((sum, step, i) => sum + step * (at[i] ?? 0), 0));
};

export const slice: Fold = (view, output) => {
  const tensor = view.constant(0);
  const ranges = sliceRanges(view);
  const strides = stridesOf(tensor?.dims ?? []);
  if (ranges === undefined) return undefined;
  return moved(tensor, output, (at) =>
    ranges.reduce((sum, { start, step }, i) => sum + (start + step * (at[i] ?? 0)) * (strides[i] ?? 0), 0),
  );
};

export const expand: Fold = (view, output) => {
  const tensor = view.constant(0);
  return moved(tensor, output, broadcastPosition(tensor?.dims ?? [], output.shape.length));
};

export const gather: Fold = (view, output) => {
  const [tensor, indices] = [view.constant(0), integersOf(view.constant(1))];
  if (tensor === undefined || indices === undefined) return undefined;
  const axis = axisOf(gatherAttributes(view.node).axis, tensor.dims.length) ?? 0;
  const length = tensor.dims[axis] ?? 0;
  if (indices.some((index) => index < -length || index >= length)) return undefined;
  const rank = (view.input(1)?.shape ?? []).length;
  const [strides, indexStrides] = [stridesOf(tensor.dims), stridesOf(view.input(1)?.shape ?? [])];
  return moved(tensor, output, (at) => {
    const listed = indexStrides.reduce((sum, stride, i) => sum + stride * (at[axis + i] ?? 0), 0);
    const index = indices[listed] ?? 0;
    const others = strides.map((stride, i) =>
      i === axis ? 0 : stride * (at[i < axis ? i : i + rank - 1] ?? 0),
    );
    return others.reduce((a, b) => a + b, (index < 0 ? index + length : index) * (strides[axis] ?? 0));
  });
};

export const concat: Fold = (view, output) => {
  const tensors = view.node.inputs.flatMap((_, i) => view.constant(i) ?? []);
  const axis = axisOf(concatAttributes(view.node).axis, output.shape.length) ?? 0;
  const inner = (tensor: Tensor) => tensor.data.length / elementCount(tensor.dims.slice(0, axis));
  const pieces: Uint8Array[] = [];
  for (let row = 0; row < elementCount(output.shape.slice(0, axis)); row++) {
    for (const tensor of tensors)
      pieces.push(tensor.data.subarray(row * inner(tensor), (row + 1) * inner(tensor)));
  }
  const data = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let position = 0;
  for (const piece of pieces) {
    data.set(piece, position);
    position += piece.length;
  }
  return { dataType: output.dataType, dims: output.shape, data };
};

export function integersOf(tensor: Tensor | undefined): readonly number[] | undefined {
  return tensor?.dataType === 'int64' || tensor?.dataType === 'int32' ? readIntegers(tensor) : undefined;
}
