/** Random tensors as tests want them, from the seeded numbers of graph/random.ts. */

import type { ValueInfo } from '../../graph/graph.ts';
import { normal, randomTensor, seededRandom } from '../../graph/random.ts';
import { byteCount, elementCount, float32Tensor, type Tensor } from '../../graph/tensor.ts';

/** Uniform values in [low, high). */
export function randomFloats(random: () => number, dims: readonly number[], low = -1, high = 1): Tensor {
  return randomTensor('float32', dims, random, [low, high]);
}

/** Standard normal values times `scale`. */
export function randomNormals(random: () => number, dims: readonly number[], scale = 1): Tensor {
  return float32Tensor(
    dims,
    Float32Array.from({ length: elementCount(dims) }, () => scale * normal(random)),
  );
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
