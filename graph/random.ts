/** Seeded pseudo-random numbers (mulberry32) and tensors of them, so that every measurement can be repeated. */
import type { DataType, Tensor } from './tensor.ts';
import { dataTypeBytes, elementCount } from './tensor.ts';

/** Uniform in [0, 1); the same sequence for the same seed everywhere. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Standard normal, by Box and Muller. */
export function normal(random: () => number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}

/** Float tensors are uniform in `range`, standard normal without one; integers lie in 0..3 and bools are even odds, which suits indices and masks. */
export function randomTensor(
  dataType: DataType,
  dims: readonly number[],
  random: () => number,
  range?: readonly [low: number, high: number],
): Tensor {
  const count = elementCount(dims);
  if (dataType === 'string') throw new TypeError('There are no random tensors of strings.');
  if (dataType === 'float32' || dataType === 'float64') {
    const values = Array.from({ length: count }, () =>
      range === undefined ? normal(random) : range[0] + (range[1] - range[0]) * random(),
    );
    const array = dataType === 'float32' ? Float32Array.from(values) : Float64Array.from(values);
    return { dataType, dims, data: new Uint8Array(array.buffer) };
  }
  const data = new Uint8Array(count * dataTypeBytes[dataType]);
  const size = dataTypeBytes[dataType];
  for (let i = 0; i < count; i++) {
    if (dataType === 'float16') {
      // A float16 in [1, 2) has exponent 15 and any mantissa: quick, and never a NaN.
      new DataView(data.buffer).setUint16(2 * i, 0x3c00 | Math.floor(random() * 1024), true);
    } else data[i * size] = Math.floor(random() * (dataType === 'bool' ? 2 : 4));
  }
  return { dataType, dims, data };
}
