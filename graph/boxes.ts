/**
 * Boxes: selections of indices along several axes of a tensor at once, in a given order, as weights need them
 * (rows for the outputs of a shard, columns for its inputs). Copies between two boxes of one tensor.
 */
import { equal, type Ranges, range, size, toIndices } from './ranges.ts';
import { elementCount } from './tensor.ts';

/** Axis -> indices in order; axes that are not listed are whole. */
export type Selections = Readonly<Record<number, Ranges>>;

export function boxDims(dims: readonly number[], selections: Selections): number[] {
  return dims.map((dim, axis) => {
    const ranges = selections[axis];
    return ranges === undefined ? dim : size(ranges);
  });
}

export interface Box {
  readonly selections: Selections;
  /** Row-major elements of the box. */
  readonly data: Uint8Array;
}

/** For each index of the target along an axis, its position in the source; null where both hold the whole axis. */
function axisMap(dim: number, target: Ranges | undefined, source: Ranges | undefined): Int32Array | null {
  const all = range(0, dim);
  const from = source ?? all;
  const to = target ?? all;
  if (equal(from, all) && equal(to, all)) return null;
  const positions = new Int32Array(dim).fill(-1);
  for (const [position, index] of toIndices(from).entries()) positions[index] = position;
  return Int32Array.from(toIndices(to), (index) => positions[index] ?? -1);
}

/**
 * Copies what `source` holds of `target`; returns the number of elements copied. `dims` are those of the whole
 * tensor, `elementBytes` the size of one element.
 */
export function copyBox(dims: readonly number[], elementBytes: number, source: Box, target: Box): number {
  const maps = dims.map((dim, axis) => axisMap(dim, target.selections[axis], source.selections[axis]));
  const sourceDims = boxDims(dims, source.selections);
  const targetDims = boxDims(dims, target.selections);
  const strides = (shape: readonly number[]) => shape.map((_, axis) => elementCount(shape.slice(axis + 1)));
  const sourceStrides = strides(sourceDims);
  const targetStrides = strides(targetDims);
  // Axes after the last mapped one are contiguous on both sides.
  const lastMapped = maps.findLastIndex((map) => map !== null);
  let copied = 0;
  const copy = (from: number, to: number, length: number) => {
    const start = from * elementBytes;
    target.data.set(source.data.subarray(start, start + length * elementBytes), to * elementBytes);
    copied += length;
  };
  const visit = (axis: number, from: number, to: number): void => {
    if (axis > lastMapped) {
      copy(from, to, elementCount(dims.slice(axis)));
      return;
    }
    const map = maps[axis];
    const sourceStride = sourceStrides[axis] ?? 1;
    const targetStride = targetStrides[axis] ?? 1;
    const length = targetDims[axis] ?? 1;
    for (let i = 0; i < length; i++) {
      const position = map?.[i] ?? i;
      if (position < 0) continue;
      if (axis < lastMapped) visit(axis + 1, from + position * sourceStride, to + i * targetStride);
      else {
        // Neighbours on both sides travel together.
        let run = 1;
        while (i + run < length && (map?.[i + run] ?? i + run) === position + run) run++;
        copy(from + position * sourceStride, to + i * targetStride, run * sourceStride);
        i += run - 1;
      }
    }
  };
  visit(0, 0, 0);
  return copied;
}
