/** The numbers of ONNX's TensorProto.DataType for the types a tensor here can have. */
import type { DataType } from '../graph/tensor.ts';

const codes: { readonly [T in DataType]: number } = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
};

const names = new Map(Object.entries(codes).map(([name, code]) => [code, name as DataType]));

export function dataTypeCode(dataType: DataType): number {
  return codes[dataType];
}

/** Undefined for types that tensors here do not have (4-bit, float8, complex). */
export function dataTypeOfCode(code: number): DataType | undefined {
  return names.get(code);
}
