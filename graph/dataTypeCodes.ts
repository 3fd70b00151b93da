/** The numbers by which ONNX files name data types, both ways. Types without a number here are not supported. */
import type { DataType } from './tensor.ts';

export const dataTypeCodes: Readonly<Record<DataType, number>> = {
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

const byCode = new Map(Object.entries(dataTypeCodes).map(([name, code]) => [code, name as DataType]));

export function dataTypeOfCode(code: number): DataType | undefined {
  return byCode.get(code);
}

/** What a message calls a type that this project does not hold. */
export function describeCode(code: number): string {
  const others: Readonly<Record<number, string>> = {
    0: 'no type',
    14: 'complex64',
    15: 'complex128',
    17: 'float8e4m3fn',
    18: 'float8e4m3fnuz',
    19: 'float8e5m2',
    20: 'float8e5m2fnuz',
    21: 'uint4',
    22: 'int4',
    23: 'float4e2m1',
  };
  return byCode.get(code) ?? others[code] ?? `type number ${code}`;
}
