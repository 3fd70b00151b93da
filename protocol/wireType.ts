/** Element types of tensors on the wire: ONNX's TensorProto.DataType numbers and the bytes of one element. */
const wireTypes = {
  float32: { code: 1, bytes: 4 },
  uint8: { code: 2, bytes: 1 },
  int8: { code: 3, bytes: 1 },
  uint16: { code: 4, bytes: 2 },
  int16: { code: 5, bytes: 2 },
  int32: { code: 6, bytes: 4 },
  int64: { code: 7, bytes: 8 },
  bool: { code: 9, bytes: 1 },
  float16: { code: 10, bytes: 2 },
  float64: { code: 11, bytes: 8 },
  uint32: { code: 12, bytes: 4 },
  uint64: { code: 13, bytes: 8 },
  bfloat16: { code: 16, bytes: 2 },
} as const;

/** Every data type of the graph but `string`, which has no fixed size and never travels. */
export type WireType = keyof typeof wireTypes;

export const wireTypeNames = Object.keys(wireTypes) as WireType[];

const typeByCode: ReadonlyMap<number, WireType> = new Map(
  wireTypeNames.map((type) => [wireTypes[type].code, type]),
);

export function wireCode(type: WireType): number {
  return wireTypes[type].code;
}

export function wireTypeOf(code: number): WireType | undefined {
  return typeByCode.get(code);
}

/** Bytes of a tensor; exact below 2^53, and larger than every limit beyond. */
export function tensorBytes(type: WireType, dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, wireTypes[type].bytes);
}
