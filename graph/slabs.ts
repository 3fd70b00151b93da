/** Cutting a part out of a tensor along one axis, and putting parts back together. Bytes only, any data type. */
import type { Slab } from './ops/rule.ts';
import { size } from './ranges.ts';
import { dataTypeBytes, elementCount, type Tensor } from './tensor.ts';

function elementBytes(dataType: Tensor['dataType']): number {
  if (dataType === 'string') throw new TypeError('Tensors of strings cannot be divided.');
  return dataTypeBytes[dataType];
}

/** Calls back once per contiguous run: byte offset in the whole, byte offset in the part, length. */
function forEachRun(
  dims: readonly number[],
  bytes: number,
  slab: Slab,
  callback: (whole: number, part: number, length: number) => void,
): void {
  const outer = elementCount(dims.slice(0, slab.axis));
  const inner = bytes * elementCount(dims.slice(slab.axis + 1));
  const stride = (dims[slab.axis] ?? 1) * inner;
  let part = 0;
  for (let i = 0; i < outer; i++) {
    for (const [start, end] of slab.ranges) {
      const length = (end - start) * inner;
      callback(i * stride + start * inner, part, length);
      part += length;
    }
  }
}

/** The slab of a tensor as a tensor of its own. */
export function cutSlab(tensor: Tensor, slab: Slab): Tensor {
  const bytes = elementBytes(tensor.dataType);
  const dims = tensor.dims.map((dim, axis) => (axis === slab.axis ? size(slab.ranges) : dim));
  const data = new Uint8Array(bytes * elementCount(dims));
  forEachRun(tensor.dims, bytes, slab, (whole, part, length) => {
    data.set(tensor.data.subarray(whole, whole + length), part);
  });
  return { dataType: tensor.dataType, dims, data };
}

/** Writes a slab into its place in the bytes of a whole tensor with dimensions `dims`. */
export function placeSlab(target: Uint8Array, dims: readonly number[], slab: Slab, part: Tensor): void {
  forEachRun(dims, elementBytes(part.dataType), slab, (whole, offset, length) => {
    target.set(part.data.subarray(offset, offset + length), whole);
  });
}
