/**
 * Symmetric positive definite systems in float64 by Cholesky's factorisation: row-major, in place where it can be.
 * A matrix that is not definite is an error with a number, never a NaN.
 */
import { StarlingError } from '../../protocol/errors.ts';

/** Lower factor L of A = L L', row-major n x n; the upper triangle is left zero. Throws CALIBRATION_INVALID. */
export function cholesky(matrix: Float64Array, n: number): Float64Array {
  const factor = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const rowI = factor.subarray(i * n, i * n + i + 1);
    for (let j = 0; j <= i; j++) {
      const rowJ = factor.subarray(j * n, j * n + j + 1);
      let sum = matrix[i * n + j] ?? 0;
      for (let k = 0; k < j; k++) sum -= (rowI[k] as number) * (rowJ[k] as number);
      if (j < i) rowI[j] = sum / (rowJ[j] as number);
      else if (sum > 0) rowI[i] = Math.sqrt(sum);
      else throw singular(i, sum);
    }
  }
  return factor;
}

function singular(pivot: number, value: number): StarlingError {
  return new StarlingError(
    'CALIBRATION_INVALID',
    `The least-squares system is singular (pivot ${pivot} is ${value}); give more or more varied calibration inputs, or a larger ridge.`,
  );
}

/** Solves L L' X = B for B of n x m, row-major; overwrites and returns B. */
export function solveFactored(factor: Float64Array, n: number, b: Float64Array): Float64Array {
  const m = b.length / n;
  for (let i = 0; i < n; i++) {
    const row = b.subarray(i * m, (i + 1) * m);
    for (let k = 0; k < i; k++) addScaled(row, b.subarray(k * m, (k + 1) * m), -(factor[i * n + k] ?? 0));
    scale(row, 1 / (factor[i * n + i] ?? 1));
  }
  for (let i = n - 1; i >= 0; i--) {
    const row = b.subarray(i * m, (i + 1) * m);
    for (let k = i + 1; k < n; k++) addScaled(row, b.subarray(k * m, (k + 1) * m), -(factor[k * n + i] ?? 0));
    scale(row, 1 / (factor[i * n + i] ?? 1));
  }
  return b;
}

function addScaled(target: Float64Array, source: Float64Array, by: number): void {
  if (by === 0) return;
  for (let i = 0; i < target.length; i++) target[i] = (target[i] as number) + by * (source[i] as number);
}

function scale(target: Float64Array, by: number): void {
  for (let i = 0; i < target.length; i++) target[i] = (target[i] as number) * by;
}

/** Inverse of a symmetric positive definite matrix. */
export function inverse(matrix: Float64Array, n: number): Float64Array {
  const identity = new Float64Array(n * n);
  for (let i = 0; i < n; i++) identity[i * n + i] = 1;
  return solveFactored(cholesky(matrix, n), n, identity);
}

/** Rows and columns `indices` of a symmetric matrix. */
export function submatrix(matrix: Float64Array, n: number, indices: readonly number[]): Float64Array {
  const size = indices.length;
  const result = new Float64Array(size * size);
  indices.forEach((row, i) => {
    indices.forEach((column, j) => {
      result[i * size + j] = matrix[row * n + column] ?? 0;
    });
  });
  return result;
}
