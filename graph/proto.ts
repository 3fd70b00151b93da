/**
 * The generated ONNX protobuf library enters the project here and nowhere else, with the 64-bit
 * integers it lacks in a bundle. Only load.ts, save.ts and their parts import this file.
 */
import Long from 'long';
import proto from 'onnx-proto';
import protobuf from 'protobufjs/minimal.js';
import { decodeNewerFields } from './newerFields.ts';

// protobufjs looks for `long` through `require`, which a browser bundle does not have; without it
// int64 values beyond 2^53 would silently lose their low bits.
protobuf.util.Long = Long as typeof protobuf.util.Long;
protobuf.configure();

export const { onnx } = proto;
export type ModelProto = ReturnType<typeof onnx.ModelProto.decode>;
export type GraphProto = ReturnType<typeof onnx.GraphProto.decode>;
/** `overload` (IR 10) tells functions of one name apart. */
export type NodeProto = ReturnType<typeof onnx.NodeProto.decode> & { overload?: string };
export type TensorProto = ReturnType<typeof onnx.TensorProto.decode>;
export type AttributeProto = ReturnType<typeof onnx.AttributeProto.decode>;
export type SparseTensorProto = ReturnType<typeof onnx.SparseTensorProto.decode>;
/** `attributeProto` (IR 9): attributes with their defaults. */
export type FunctionProto = ReturnType<typeof onnx.FunctionProto.decode> & {
  overload?: string;
  attributeProto?: AttributeProto[];
};
export type ValueInfoProto = ReturnType<typeof onnx.ValueInfoProto.decode>;

decodeNewerFields<NodeProto>(onnx.NodeProto, {
  8: (node, reader) => {
    node.overload = reader.string();
  },
});
decodeNewerFields<FunctionProto>(onnx.FunctionProto, {
  11: (called, reader) => {
    const attribute = onnx.AttributeProto.decode(reader, reader.uint32());
    called.attributeProto = [...(called.attributeProto ?? []), attribute];
  },
  13: (called, reader) => {
    called.overload = reader.string();
  },
});

const int64End = 2 ** 63;

/** An int64 of the library as a number; beyond 2^53 it saturates at the ends of int64. */
export function fromInt64(value: unknown): number {
  const number = Long.isLong(value) ? value.toNumber() : Number(value ?? 0);
  if (Number.isSafeInteger(number)) return number;
  return number > 0 ? int64End : -int64End;
}

/** The inverse of fromInt64. */
export function toInt64(value: number): Long {
  if (value >= int64End) return Long.MAX_VALUE;
  if (value <= -int64End) return Long.MIN_VALUE;
  return Long.fromNumber(value);
}

/** An int64 or uint64 of the library with all its bits. */
export function toBigInt(value: unknown): bigint {
  if (Long.isLong(value)) return (BigInt(value.getHighBits()) << 32n) | BigInt(value.getLowBitsUnsigned());
  return BigInt(Math.trunc(Number(value)));
}
