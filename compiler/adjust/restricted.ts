/** What a contraction can still do when each shard reads only its own block, told from the Gram matrix alone: no rows are read. */
import type { Gram } from '../calibrate/gram.ts';
import { quadraticForms } from '../linearAlgebra/quadraticForm.ts';
import type { Block } from './blocks.ts';
import { prepareSolver } from './solver.ts';

/** The best weights for the blocks, and the share of the outputs' variance that they miss. */
export function restrictedFit(
  weights: Float64Array,
  { matrix, width }: Gram,
  blocks: readonly Block[],
  ridge: number,
): { readonly weights: Float64Array; readonly error: number } {
  const outputs = weights.length / width;
  const cross = new Float64Array(width * outputs);
  for (let output = 0; output < outputs; output++) {
    for (let i = 0; i < width; i++) {
      let sum = 0;
      for (let j = 0; j < width; j++)
        sum += (matrix[i * width + j] as number) * (weights[output * width + j] as number);
      cross[i * outputs + output] = sum;
    }
  }
  const solved = prepareSolver(matrix, width, blocks, ridge)(cross, weights, outputs);
  const missed = quadraticForms(
    matrix,
    width,
    weights.map((weight, i) => weight - (solved[i] as number)),
  );
  let variance = 0;
  for (let output = 0; output < outputs; output++) {
    const at = output * width;
    const mean = cross[(width - 1) * outputs + output] as number;
    variance -= mean * mean;
    for (let i = 0; i < width; i++)
      variance += (weights[at + i] as number) * (cross[i * outputs + output] as number);
  }
  return { weights: solved, error: variance > 0 ? missed / variance : 0 };
}
