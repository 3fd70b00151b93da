/** A SparseTensorProto (values and where they are) as a Tensor like any other: zero wherever the file says nothing. */
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import { loadTensor, type ReadExternal } from './loadTensor.ts';
import { fromInt64, onnx, type SparseTensorProto } from './proto.ts';
import { byteCount, dataTypeBytes, elementCount, readIntegers, type Tensor } from './tensor.ts';

/** `where` names the tensor in messages. */
export function loadSparseTensor(
  proto: SparseTensorProto,
  where: string,
  readExternal: ReadExternal,
): Tensor {
  const dims = proto.dims.map(fromInt64);
  const values = loadTensor(onnx.TensorProto.create(proto.values ?? {}), `${where} (values)`, readExternal);
  const { dataType } = values;
  if (dataType === 'string') throw unsupported(where, 'holds strings');
  if (dims.some((dim) => dim < 0) || !(byteCount(dataType, dims) <= limits.tensorBytes))
    throw unsupported(where, `would be ${dataType}[${dims.join(', ')}] when written out`);
  const indices = loadTensor(
    onnx.TensorProto.create(proto.indices ?? {}),
    `${where} (indices)`,
    readExternal,
  );
  const positions = linearPositions(indices, dims);
  const width = dataTypeBytes[dataType];
  const data = new Uint8Array(byteCount(dataType, dims));
  const count = elementCount(values.dims);
  if (positions.length !== count)
    throw unreadable(where, `has ${count} values but says where ${positions.length} of them are`);
  for (const [i, position] of positions.entries()) {
    if (!(position >= 0 && position < elementCount(dims)))
      throw unreadable(where, `has a value outside its dimensions [${dims.join(', ')}]`);
    data.set(values.data.subarray(i * width, (i + 1) * width), position * width);
  }
  return { dataType, dims, data };
}

/** Indices are positions in the flattened tensor, or one row of coordinates a value. */
function linearPositions(indices: Tensor, dims: readonly number[]): readonly number[] {
  const numbers = readIntegers(indices);
  const [count = 0, rank] = indices.dims;
  if (rank === undefined) return numbers;
  return Array.from({ length: count }, (_, row) => {
    const coordinates = numbers.slice(row * rank, (row + 1) * rank);
    const inside =
      coordinates.length === dims.length && coordinates.every((at, i) => at >= 0 && at < (dims[i] ?? 0));
    return inside ? coordinates.reduce((position, at, i) => position * (dims[i] ?? 1) + at, 0) : -1;
  });
}

function unreadable(where: string, problem: string): StarlingError {
  return new StarlingError('MODEL_UNREADABLE', `${where} ${problem}; the file is damaged.`);
}

function unsupported(where: string, problem: string): StarlingError {
  return new StarlingError('MODEL_UNSUPPORTED', `${where} ${problem}; write it as a dense tensor.`);
}
