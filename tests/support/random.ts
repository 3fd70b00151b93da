/** Seeded random numbers and tensors for tests: the same on every machine and in every run. */

import type { ValueInfo } from '../../graph/graph.ts';
import { byteCount, elementCount, float32Tensor, type Tensor } from '../../graph/tensor.ts';

/** mulberry32: uniform in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Uniform values in [low, high). */
export function randomFloats(random: () => number, dims: readonly number[], low = -1, high = 1): Tensor {
  const values = Float32Array.from({ length: elementCount(dims) }, () => low + (high - low) * random());
  return float32Tensor(dims, values);
}

/** Standard normal values times `scale` (Box and Muller). */
export function randomNormals(random: () => number, dims: readonly number[], scale = 1): Tensor {
  const values = new Float32Array(elementCount(dims));
  for (let i = 0; i < values.length; i++) {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    values[i] = scale * radius * Math.cos(2 * Math.PI * random());
  }
  return float32Tensor(dims, values);
}

/** One tensor per input: floats in [-1, 1), other types zero. Open dimensions come from `dims`, else are 1. */
export function randomFeeds(
  inputs: readonly ValueInfo[],
  seed = 1,
  dims: Readonly<Record<string, readonly number[]>> = {},
): ReadonlyMap<string, Tensor> {
  const random = seededRandom(seed);
  return new Map(
    inputs.map((input) => {
      const { dataType } = input;
      const shape = dims[input.name] ?? (input.shape ?? []).map((dim) => (typeof dim === 'number' ? dim : 1));
      if (dataType === 'float32') return [input.name, randomFloats(random, shape)];
      if (dataType === 'string') throw new Error('No random strings.');
      return [input.name, { dataType, dims: shape, data: new Uint8Array(byteCount(dataType, shape)) }];
    }),
  );
}
