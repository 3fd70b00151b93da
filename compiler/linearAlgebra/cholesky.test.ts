import { expect, test } from 'vitest';
import { normal, seededRandom } from '../../graph/random.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { cholesky, inverse, solveFactored } from './cholesky.ts';

function definite(n: number, seed: number): Float64Array {
  const random = seededRandom(seed);
  const a = Float64Array.from({ length: n * n }, () => normal(random));
  const result = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) {
      let sum = i === j ? 0.1 : 0;
      for (let k = 0; k < n; k++) sum += (a[i * n + k] ?? 0) * (a[j * n + k] ?? 0);
      result[i * n + j] = sum;
    }
  return result;
}

test.each([1, 2, 17, 64])('solves definite systems of %i unknowns', (n) => {
  const matrix = definite(n, n);
  const random = seededRandom(n + 1);
  const m = 3;
  const wanted = Float64Array.from({ length: n * m }, () => normal(random));
  const right = new Float64Array(n * m);
  for (let i = 0; i < n; i++)
    for (let k = 0; k < n; k++)
      for (let j = 0; j < m; j++)
        right[i * m + j] = (right[i * m + j] ?? 0) + (matrix[i * n + k] ?? 0) * (wanted[k * m + j] ?? 0);
  const solved = solveFactored(cholesky(matrix, n), n, right);
  for (const [i, value] of wanted.entries()) expect(solved[i]).toBeCloseTo(value, 5);
  const inverted = inverse(matrix, n);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let k = 0; k < n; k++) sum += (matrix[i * n + k] ?? 0) * (inverted[k * n + i] ?? 0);
    expect(sum).toBeCloseTo(1, 6);
  }
});

test('a singular matrix is an error, not a NaN', () => {
  expect(() => cholesky(Float64Array.from([1, 1, 1, 1]), 2)).toThrow(StarlingError);
  expect(() => cholesky(Float64Array.from([Number.NaN, 0, 0, 1]), 2)).toThrow(/singular/);
});
