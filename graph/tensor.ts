/**
 * A tensor as data: type, dimensions and little-endian bytes, and nothing that computes.
 * Data types carry onnxruntime's names.
 */

/** Bytes per element; `string` has none and 4-bit types are not supported. */
export const dataTypeBytes = {
  float32: 4,
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  int32: 4,
  int64: 8,
  bool: 1,
  float16: 2,
  float64: 8,
  uint32: 4,
  uint64: 8,
  bfloat16: 2,
} as const;

export type DataType = keyof typeof dataTypeBytes | 'string';

export interface Tensor {
  readonly dataType: DataType;
  readonly dims: readonly number[];
  /** Little-endian, row-major; empty for strings. */
  readonly data: Uint8Array;
  /** The elements of a tensor of strings (UTF-8 bytes). */
  readonly strings?: readonly Uint8Array[];
}

export function elementCount(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}

export function byteCount(dataType: Exclude<DataType, 'string'>, dims: readonly number[]): number {
  return dataTypeBytes[dataType] * elementCount(dims);
}

/** Bytes that a tensor of this type takes on its way; 0 for strings, whose length their type does not say. */
export function tensorBytes({
  dataType,
  dims,
}: {
  readonly dataType: DataType;
  readonly dims: readonly number[];
}): number {
  return dataType === 'string' ? 0 : byteCount(dataType, dims);
}

/** The elements of an integer or bool tensor; int64 beyond 2^53 loses precision, which no index needs. */
export function readIntegers(tensor: Tensor): number[] {
  const { data, dataType } = tensor;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const count = elementCount(tensor.dims);
  const read = integerReaders[dataType];
  if (read === undefined) throw new TypeError(`Expected an integer tensor, got ${dataType}.`);
  return Array.from({ length: count }, (_, i) => read(view, i));
}

const integerReaders: { [T in DataType]?: (view: DataView, i: number) => number } = {
  uint8: (v, i) => v.getUint8(i),
  int8: (v, i) => v.getInt8(i),
  bool: (v, i) => v.getUint8(i),
  uint16: (v, i) => v.getUint16(2 * i, true),
  int16: (v, i) => v.getInt16(2 * i, true),
  uint32: (v, i) => v.getUint32(4 * i, true),
  int32: (v, i) => v.getInt32(4 * i, true),
  int64: (v, i) => Number(v.getBigInt64(8 * i, true)),
  uint64: (v, i) => Number(v.getBigUint64(8 * i, true)),
};

/** A float32 view of a float32 tensor; copies only where the bytes are not aligned. */
export function float32View(tensor: Tensor): Float32Array {
  if (tensor.dataType !== 'float32') throw new TypeError(`Expected float32, got ${tensor.dataType}.`);
  const { data } = tensor;
  if (data.byteOffset % 4 === 0) return new Float32Array(data.buffer, data.byteOffset, data.byteLength / 4);
  return new Float32Array(data.slice().buffer);
}

export function float32Tensor(dims: readonly number[], values: Float32Array | readonly number[]): Tensor {
  const array = values instanceof Float32Array ? values : Float32Array.from(values);
  return {
    dataType: 'float32',
    dims,
    data: new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
  };
}

export function int64Tensor(values: readonly number[], dims: readonly number[] = [values.length]): Tensor {
  // "To the end" is written as the largest int64, which is no exact number and would wrap around.
  const array = BigInt64Array.from(values, (value) => (value >= 2 ** 63 ? 2n ** 63n - 1n : BigInt(value)));
  return { dataType: 'int64', dims, data: new Uint8Array(array.buffer) };
}
