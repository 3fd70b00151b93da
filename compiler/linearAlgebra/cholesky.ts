/**
 * Symmetric positive definite systems in float64 by Cholesky's factorisation: row-major, in place where it can be.
 * A matrix that is not definite is an error with a number, never a NaN.
 */
import { StarlingError } from '../../protocol/errors.ts';

/** Lower factor L of A = L L', row-major n x n; the upper triangle is left zero. Throws CALIBRATION_INVALID. */
export function cholesky(matrix: Float64Array, n: number): Float64Array {
  const factor = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const sum = (matrix[i * n + j] ?? 0) - dot(factor, i * n, j * n, j);
      if (j < i) factor[i * n + j] = sum / (factor[j * n + j] as number);
      else if (sum > 0) factor[i * n + i] = Math.sqrt(sum);
      else throw singular(i, sum);
    }
  }
  return factor;
}

/** Of two rows of one array; four sums at once, because each addition waits for the one before it. */
function dot(values: Float64Array, left: number, right: number, length: number): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  let k = 0;
  for (; k + 3 < length; k += 4) {
    a += (values[left + k] as number) * (values[right + k] as number);
    b += (values[left + k + 1] as number) * (values[right + k + 1] as number);
    c += (values[left + k + 2] as number) * (values[right + k + 2] as number);
    d += (values[left + k + 3] as number) * (values[right + k + 3] as number);
  }
  for (; k < length; k++) a += (values[left + k] as number) * (values[right + k] as number);
  return a + b + c + d;
}

function singular(pivot: number, value: number): StarlingError {
  return new StarlingError(
    'CALIBRATION_INVALID',
    `The calibration inputs are too few or too much alike: a least-squares system made of them is singular (pivot ${pivot} is ${value}); give more, and more varied ones.`,
  );
}

/** Solves L L' X = B for B of n x m, row-major; overwrites and returns B. */
export function solveFactored(factor: Float64Array, n: number, b: Float64Array): Float64Array {
  const m = b.length / n;
  for (let i = 0; i < n; i++) {
    subtractRows(b, m, i, 0, i, factor, i * n, 1);
    scale(b, i * m, m, 1 / (factor[i * n + i] as number));
  }
  for (let i = n - 1; i >= 0; i--) {
    subtractRows(b, m, i, i + 1, n, factor, (i + 1) * n + i, n);
    scale(b, i * m, m, 1 / (factor[i * n + i] as number));
  }
  return b;
}

/**
 * Row `target` of `b`, less rows `from` to `to` (exclusive) times factors that lie `step` apart from `at` on; four rows at
 * once, so that the target is read and written a quarter as often.
 */
function subtractRows(
  b: Float64Array,
  m: number,
  target: number,
  from: number,
  to: number,
  factors: Float64Array,
  at: number,
  step: number,
): void {
  let k = from;
  let next = at;
  for (; k + 3 < to; k += 4, next += 4 * step) {
    const f0 = factors[next] as number;
    const f1 = factors[next + step] as number;
    const f2 = factors[next + 2 * step] as number;
    const f3 = factors[next + 3 * step] as number;
    for (let i = 0, row = target * m, source = k * m; i < m; i++, row++, source++) {
      b[row] =
        (b[row] as number) -
        f0 * (b[source] as number) -
        f1 * (b[source + m] as number) -
        f2 * (b[source + 2 * m] as number) -
        f3 * (b[source + 3 * m] as number);
    }
  }
  for (; k < to; k++, next += step) addScaled(b, target * m, k * m, m, -(factors[next] as number));
}

function addScaled(values: Float64Array, target: number, source: number, length: number, by: number): void {
  if (by === 0) return;
  for (let i = 0; i < length; i++)
    values[target + i] = (values[target + i] as number) + by * (values[source + i] as number);
}

function scale(values: Float64Array, start: number, length: number, by: number): void {
  for (let i = start; i < start + length; i++) values[i] = (values[i] as number) * by;
}

/** Inverse of a symmetric positive definite matrix: L^-1 by rows, then its transpose times itself. Throws CALIBRATION_INVALID. */
export function inverse(matrix: Float64Array, n: number): Float64Array {
  const factor = cholesky(matrix, n);
  const lower = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    lower[i * n + i] = 1;
    for (let k = 0; k < i; k++) addScaled(lower, i * n, k * n, k + 1, -(factor[i * n + k] as number));
    scale(lower, i * n, i + 1, 1 / (factor[i * n + i] as number));
  }
  const result = new Float64Array(n * n);
  for (let k = 0; k < n; k++) {
    for (let i = 0; i <= k; i++) {
      const by = lower[k * n + i] as number;
      if (by === 0) continue;
      for (let j = 0; j <= i; j++)
        result[i * n + j] = (result[i * n + j] as number) + by * (lower[k * n + j] as number);
    }
  }
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) result[j * n + i] = result[i * n + j] as number;
  }
  return result;
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
