/** Numbers that a model can be tried with when nobody gives any: between 0 and 1; 0 or 1 where they are whole. */
import type { PlanValue } from '../../workers/api.ts';
import { type TensorLike, toOutput } from '../tensors.ts';

/** Elements that are drawn; more repeat them, so that a large input is made at once. */
const period = 65_537;

export function randomTensor({ dataType, shape }: PlanValue, random: () => number = Math.random): TensorLike {
  const count = shape.reduce((product, dim) => product * dim, 1);
  const bytes = bytesPerElement[dataType] ?? 1;
  const tensor = toOutput({ dataType, dims: shape, data: new Uint8Array(count * bytes) });
  const { data } = tensor;
  const drawn = Float32Array.from({ length: Math.min(count, period) }, random);
  for (let i = 0; i < count; i++) {
    const value = drawn[i % period] ?? 0;
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[i] = value < 0.5 ? 0n : 1n;
    else
      data[i] =
        data instanceof Float32Array || data instanceof Float64Array ? value : numberOf(dataType, value);
  }
  return tensor;
}

/** uint8 inputs are mostly pixels; half floats come as their bits, of which a zero and a one are known. */
function numberOf(dataType: PlanValue['dataType'], value: number): number {
  if (dataType === 'uint8') return Math.floor(256 * value);
  const one = dataType === 'float16' ? 0x3c00 : dataType === 'bfloat16' ? 0x3f80 : 1;
  return value < 0.5 ? 0 : one;
}

const bytesPerElement: Readonly<Partial<Record<PlanValue['dataType'], number>>> = {
  float32: 4,
  float64: 8,
  float16: 2,
  bfloat16: 2,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
};
