/**
 * A TensorProto as a Tensor: raw or typed data, or a piece of an external file. Raw and external data
 * become views into the bytes they came from; only typed fields are copied.
 */
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import { dataTypeOfCode, describeCode } from './dataTypeCodes.ts';
import { externalRange } from './externalData.ts';
import { fromInt64, onnx, type TensorProto, toBigInt } from './proto.ts';
import { byteCount, type DataType, elementCount, type Tensor } from './tensor.ts';

/** Gives the bytes of a file that lies beside the model, by the path the model names. */
export type ReadExternal = (path: string) => Uint8Array;

/** `where` names the tensor in messages: an initializer, or an attribute of a node. */
export function loadTensor(proto: TensorProto, where: string, readExternal: ReadExternal): Tensor {
  const dataType = dataTypeOfCode(proto.dataType);
  if (dataType === undefined) {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      `${where} holds ${describeCode(proto.dataType)}, which Starling does not read; convert the model to float32.`,
    );
  }
  if (proto.segment != null && Object.hasOwn(proto, 'segment')) {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      `${where} is stored in segments, which no ONNX runtime reads.`,
    );
  }
  const dims = proto.dims.map(fromInt64);
  if (
    dims.length > limits.tensorRank ||
    dims.some((dim) => dim < 0) ||
    !Number.isSafeInteger(elementCount(dims))
  ) {
    throw unreadable(where, `has impossible dimensions [${dims.slice(0, limits.tensorRank).join(', ')}]`);
  }
  if (dataType === 'string') return stringTensor(proto, dims, where);
  const expected = byteCount(dataType, dims);
  const data = tensorData(proto, dataType, expected, where, readExternal);
  if (data.byteLength !== expected) {
    throw unreadable(
      where,
      `should hold ${expected} bytes for ${dataType}[${dims.join(', ')}] but holds ${data.byteLength}`,
    );
  }
  return { dataType, dims, data };
}

function stringTensor(proto: TensorProto, dims: readonly number[], where: string): Tensor {
  if (proto.stringData.length !== elementCount(dims)) {
    throw unreadable(where, `should hold ${elementCount(dims)} strings but holds ${proto.stringData.length}`);
  }
  return { dataType: 'string', dims, data: new Uint8Array(0), strings: proto.stringData };
}

function tensorData(
  proto: TensorProto,
  dataType: Exclude<DataType, 'string'>,
  bytes: number,
  where: string,
  readExternal: ReadExternal,
): Uint8Array {
  if (proto.dataLocation === onnx.TensorProto.DataLocation.EXTERNAL)
    return externalData(proto, bytes, where, readExternal);
  if (proto.rawData.length > 0) return proto.rawData;
  return typedData[dataType](proto);
}

/** Where ONNX puts the elements of each type when they are not raw. */
const typedData: { readonly [T in Exclude<DataType, 'string'>]: (proto: TensorProto) => Uint8Array } = {
  float32: (proto) => bytesOf(Float32Array.from(proto.floatData)),
  float64: (proto) => bytesOf(Float64Array.from(proto.doubleData)),
  int32: (proto) => bytesOf(Int32Array.from(proto.int32Data)),
  int16: (proto) => bytesOf(Int16Array.from(proto.int32Data)),
  int8: (proto) => bytesOf(Int8Array.from(proto.int32Data)),
  uint16: (proto) => bytesOf(Uint16Array.from(proto.int32Data)),
  uint8: (proto) => bytesOf(Uint8Array.from(proto.int32Data)),
  bool: (proto) => bytesOf(Uint8Array.from(proto.int32Data, (value) => (value === 0 ? 0 : 1))),
  float16: (proto) => bytesOf(Uint16Array.from(proto.int32Data)),
  bfloat16: (proto) => bytesOf(Uint16Array.from(proto.int32Data)),
  int64: (proto) => bytesOf(BigInt64Array.from(proto.int64Data, toBigInt)),
  uint64: (proto) =>
    bytesOf(BigUint64Array.from(proto.uint64Data, (value) => BigInt.asUintN(64, toBigInt(value)))),
  uint32: (proto) =>
    bytesOf(Uint32Array.from(proto.uint64Data, (value) => Number(toBigInt(value) & 0xffffffffn))),
};

function externalData(
  proto: TensorProto,
  bytes: number,
  where: string,
  readExternal: ReadExternal,
): Uint8Array {
  const { path, offset, length } = externalRange(proto, bytes, where);
  const file = readExternal(path);
  if (offset + length > file.byteLength) {
    throw unreadable(
      where,
      `lies at bytes ${offset} to ${offset + length} of ${path}, which has only ${file.byteLength}`,
    );
  }
  return file.subarray(offset, offset + length);
}

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function unreadable(where: string, problem: string): StarlingError {
  return new StarlingError(
    'MODEL_UNREADABLE',
    `${where} ${problem}; the file is damaged or was not written by an ONNX exporter.`,
  );
}
