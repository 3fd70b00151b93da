/** Ridge regression of many outputs at once, each block of them on columns of its own, by one factorisation per block. */
import { cholesky, solveFactored, submatrix } from '../linearAlgebra/cholesky.ts';
import type { Block } from './blocks.ts';

/** `cross` is width x outputs (X'Y), `old` outputs x width; the result is like `old`, zero outside the blocks. */
export type Solver = (cross: Float64Array, old: Float64Array, outputs: number) => Float64Array<ArrayBuffer>;

/**
 * `gram` is X'X, its last column the bias'. The ridge is relative to the mean diagonal and pulls all but the bias towards
 * `old`; an infinite one keeps `old` inside the blocks and fits the bias alone. Throws CALIBRATION_INVALID.
 */
export function prepareSolver(
  gram: Float64Array,
  width: number,
  blocks: readonly Block[],
  ridge: number,
): Solver {
  if (ridge === Number.POSITIVE_INFINITY) return biasSolver(gram, width, blocks);
  let trace = 0;
  for (let i = 0; i < width; i++) trace += gram[i * width + i] as number;
  const pull = (ridge * trace) / width;
  const pullOf = (column: number) => (column === width - 1 ? 0 : pull);
  const factors = blocks.map(({ columns }) => {
    const part = submatrix(gram, width, columns);
    columns.forEach((column, i) => {
      const at = i * columns.length + i;
      part[at] = (part[at] as number) + pullOf(column);
    });
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
            (cross[column * outputs + output] as number) +
            pullOf(column) * (old[output * width + column] as number);
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

function biasSolver(gram: Float64Array, width: number, blocks: readonly Block[]): Solver {
  const bias = width - 1;
  const rows = gram[bias * width + bias] as number;
  return (cross, old, outputs) => {
    const weights = new Float64Array(outputs * width);
    for (const { outputs: made, columns } of blocks) {
      for (const output of made) {
        let left = cross[bias * outputs + output] as number;
        for (const column of columns) {
          if (column === bias) continue;
          const weight = old[output * width + column] as number;
          weights[output * width + column] = weight;
          left -= weight * (gram[bias * width + column] as number);
        }
        if (columns.includes(bias)) weights[output * width + bias] = left / rows;
      }
    }
    return weights;
  };
}
