/** Weights that are zero and multiplied all the same: no kernel here skips them, so they count for nothing. */
import { float32View } from '../../graph/tensor.ts';
import type { PlanFile } from '../../protocol/plan.ts';

export interface ScatteredZeros {
  readonly zeros: number;
  readonly weights: number;
}

/** Over the float32 weights of all shards as they are laid out; `contents` are the weight files. */
export function scatteredZeros(
  tensors: PlanFile['tensors'],
  contents: readonly Uint8Array[],
): ScatteredZeros {
  let zeros = 0;
  let weights = 0;
  for (const { dataType, parts } of Object.values(tensors)) {
    if (dataType !== 'float32') continue;
    for (const { file, offset, bytes } of parts) {
      const content = contents[file];
      if (content === undefined) continue;
      const data = content.subarray(offset, offset + bytes);
      const part = float32View({ dataType, dims: [bytes / 4], data });
      weights += part.length;
      for (const weight of part) if (weight === 0) zeros++;
    }
  }
  return { zeros, weights };
}
