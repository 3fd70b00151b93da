/** Ridge regression of many outputs at once, each block of them on columns of its own, by one factorisation per block. */
import { cholesky, solveFactored, submatrix } from '../linearAlgebra/cholesky.ts';
import type { Block } from './blocks.ts';

/** `cross` is width x outputs (X'Y), `old` outputs x width; the result is like `old`, zero outside the blocks. */
export type Solver = (cross: Float64Array, old: Float64Array, outputs: number) => Float64Array<ArrayBuffer>;

/** `gram` is X'X; the ridge is relative to its mean diagonal and pulls towards `old`. Throws CALIBRATION_INVALID. */
export function prepareSolver(
  gram: Float64Array,
  width: number,
  blocks: readonly Block[],
  ridge: number,
): Solver {
  let trace = 0;
  for (let i = 0; i < width; i++) trace += gram[i * width + i] as number;
  const pull = (ridge * trace) / width;
  const factors = blocks.map(({ columns }) => {
    const part = submatrix(gram, width, columns);
    for (let i = 0; i < columns.length; i++)
      part[i * columns.length + i] = (part[i * columns.length + i] as number) + pull;
    return cholesky(part, columns.length);
  });
  return (cross, old, outputs) => {
    const weights = new Float64Array(outputs * width);
    for (const [q, block] of blocks.entries()) {
      const size = block.columns.length;
      const right = new Float64Array(size * block.outputs.length);
      block.columns.forEach((column, i) => {
        block.outputs.forEach((output, j) => {
          right[i * block.outputs.length + j] =
            (cross[column * outputs + output] as number) + pull * (old[output * width + column] as number);
        });
      });
      const solved = solveFactored(factors[q] ?? new Float64Array(0), size, right);
      block.columns.forEach((column, i) => {
        block.outputs.forEach((output, j) => {
          weights[output * width + column] = solved[i * block.outputs.length + j] as number;
        });
      });
    }
    return weights;
  };
}
