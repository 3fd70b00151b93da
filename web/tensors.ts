/**
 * Tensors as callers give and get them, in onnxruntime's shape, and as the Worker takes them. Checks what comes in
 * against the plan; computes nothing.
 */
import type { Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { PlanValue } from '../workers/api.ts';

export type TensorData =
  | Float32Array
  | Float64Array
  | Uint8Array
  | Uint8ClampedArray
  | Int8Array
  | Uint16Array
  | Int16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** `{data, dims, type}` as in onnxruntime, its own tensors included; `type` follows from `data` where it is left out. */
export interface TensorLike {
  readonly data: TensorData | readonly number[] | unknown;
  readonly dims: readonly number[];
  readonly type?: string | undefined;
}

export interface OutputTensor {
  /** float16 and bfloat16 come as their 16 bits; bool as 0 and 1. */
  readonly data: TensorData;
  readonly dims: readonly number[];
  readonly type: NumericType;
}

type NumericType = Exclude<Tensor['dataType'], 'string'>;

const arrays: {
  readonly [Type in NumericType]: new (
    buffer: ArrayBuffer,
  ) => TensorData;
} = {
  float32: Float32Array,
  float64: Float64Array,
  uint8: Uint8Array,
  int8: Int8Array,
  bool: Uint8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
};

/**
 * The inputs of a run, by name. With `maxItems` above 1 the first axis is a batch and may have so many items. Throws
 * INPUT_INVALID.
 */
export function toInputs(
  feeds: Readonly<Record<string, TensorLike>>,
  expected: readonly PlanValue[],
  maxItems = 1,
): Record<string, Tensor> {
  const names = new Set(expected.map(({ name }) => name));
  for (const name of Object.keys(feeds)) {
    if (!names.has(name)) {
      throw invalid(`The plan has no input "${name}"; its inputs are ${[...names].join(', ')}.`);
    }
  }
  return Object.fromEntries(
    expected.map((value) => [value.name, toTensor(value, feeds[value.name], maxItems)]),
  );
}

function toTensor(value: PlanValue, given: TensorLike | undefined, maxItems: number): Tensor {
  const { name, shape, dataType } = value;
  if (given === undefined)
    throw invalid(`Input "${name}" is missing; it is ${dataType} [${shape.join(', ')}].`);
  const dims = [...given.dims];
  const sameShape =
    dims.length === shape.length &&
    dims.every((dim, i) => {
      const isBatch = i === 0 && maxItems > 1 && dim >= 1 && dim <= maxItems;
      return isBatch || dim === shape[i];
    });
  if (!sameShape) {
    throw invalid(
      `Input "${name}" must have the shape [${shape.join(', ')}], but [${dims.join(', ')}] came.`,
    );
  }
  const data = Array.isArray(given.data) ? fromNumbers(dataType, given.data) : given.data;
  if (!ArrayBuffer.isView(data) || data instanceof DataView) {
    throw invalid(`Input "${name}" must carry its elements as a typed array in "data".`);
  }
  const type = given.type ?? typeOf(data);
  if (type !== dataType) throw invalid(`Input "${name}" must be ${dataType}, but ${type} came.`);
  const count = dims.reduce((product, dim) => product * dim, 1);
  const length = (data as TensorData).length;
  if (length !== count) throw invalid(`Input "${name}" must have ${count} elements, but ${length} came.`);
  // A copy: the run may start again long after the caller has changed its array.
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  return { dataType, dims, data: bytes };
}

export function toOutput(tensor: Tensor): OutputTensor {
  const { dataType, dims, data } = tensor;
  if (dataType === 'string') throw invalid('Outputs of strings are not supported.');
  const whole = data.byteOffset === 0 && data.byteLength === data.buffer.byteLength;
  const buffer = (whole ? data.buffer : data.slice().buffer) as ArrayBuffer;
  return { data: new arrays[dataType](buffer), dims, type: dataType };
}

function fromNumbers(dataType: Tensor['dataType'], numbers: readonly unknown[]): unknown {
  if (dataType === 'float32') return Float32Array.from(numbers, Number);
  if (dataType === 'float64') return Float64Array.from(numbers, Number);
  if (dataType === 'int32') return Int32Array.from(numbers, Number);
  if (dataType === 'uint8') return Uint8Array.from(numbers, Number);
  if (dataType === 'int64') return BigInt64Array.from(numbers, (number) => BigInt(Number(number)));
  return numbers;
}

function typeOf(data: ArrayBufferView): string {
  if (data instanceof Uint8ClampedArray) return 'uint8';
  const found = Object.entries(arrays).find(([, array]) => data instanceof array);
  return found?.[0] ?? 'an unknown type';
}

function invalid(message: string): StarlingError {
  return new StarlingError('INPUT_INVALID', message);
}
