/**
 * The combinations of a shard's features that tell another shard most: reduced-rank regression (Izenman 1975) of what that
 * shard computes on what it has not, given what it has. Knows matrices only.
 */
import { cholesky, inverse, solveFactored, submatrix } from '../linearAlgebra/cholesky.ts';
import { symmetricEigenvectors } from '../linearAlgebra/eigen.ts';

export interface BasisInput {
  /** Second moments of all features and of the constant 1, n x n, row-major. */
  readonly gram: Float64Array;
  readonly n: number;
  /** Columns of the features that may be combined, and of what the reader has without them, the constant among them. */
  readonly combined: readonly number[];
  readonly known: readonly number[];
  /** What the reader's outputs weigh of the combined features: W'W, square of their number, row-major. */
  readonly weighed: Float64Array;
  /** Keeps the matrices definite; relative to their mean diagonal. */
  readonly ridge: number;
}

export interface Direction {
  /** Coefficients of the combined features, norm 1. */
  readonly row: Float64Array;
  /** What the reader's outputs miss without it, in the units of `weighed`. */
  readonly explained: number;
}

/** Directions that explain less than this part of what the first explains tell nothing: any will do. */
const leastPart = 1e-9;

/** As many as features that are combined, the most telling first. */
export function basis({ gram, n, combined, known, weighed, ridge }: BasisInput): readonly Direction[] {
  const size = combined.length;
  const unknown = givenOthers(gram, n, combined, known, ridge);
  const lower = cholesky(unknown, size);
  // L' M: white noise to what the reader misses of it.
  const missed = product(transposed(lower, size), weighed, size);
  const { values, vectors } = symmetricEigenvectors(product(missed, lower, size), size);
  const [largest = 0] = values;
  return vectors.map((vector, i) => {
    const explained = Math.max(0, values[i] ?? 0);
    const row = explained > leastPart * largest ? timesRows(vector, missed) : unwhitened(vector, lower);
    const norm = Math.hypot(...row);
    return { row: row.map((value) => value / norm), explained };
  });
}

function timesRows(vector: Float64Array, matrix: Float64Array): Float64Array {
  const size = vector.length;
  const row = new Float64Array(size);
  for (let k = 0; k < size; k++) {
    for (let j = 0; j < size; j++)
      row[j] = (row[j] as number) + (vector[k] as number) * (matrix[k * size + j] as number);
  }
  return row;
}

/** v' / L: what makes a direction of the white noise from the features. */
function unwhitened(vector: Float64Array, lower: Float64Array): Float64Array {
  const size = vector.length;
  const white = Float64Array.from(vector, (_, i) => {
    let sum = 0;
    for (let k = 0; k <= i; k++) sum += (lower[i * size + k] as number) * (vector[k] as number);
    return sum;
  });
  return solveFactored(lower, size, white);
}

/** Covariance of some columns that is left when others are known: a block of the inverse, inverted. */
function givenOthers(
  gram: Float64Array,
  n: number,
  columns: readonly number[],
  known: readonly number[],
  ridge: number,
): Float64Array {
  const all = [...columns, ...known];
  const joint = submatrix(gram, n, all);
  let trace = 0;
  for (let i = 0; i < all.length; i++) trace += joint[i * all.length + i] ?? 0;
  for (let i = 0; i < all.length; i++)
    joint[i * all.length + i] = (joint[i * all.length + i] ?? 0) + (ridge * trace) / all.length;
  const first = columns.map((_, i) => i);
  return inverse(submatrix(inverse(joint, all.length), all.length, first), columns.length);
}

function transposed(matrix: Float64Array, n: number): Float64Array {
  return matrix.map((_, i) => matrix[(i % n) * n + Math.floor(i / n)] ?? 0);
}

function product(a: Float64Array, b: Float64Array, n: number): Float64Array {
  const result = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      const factor = a[i * n + k] as number;
      if (factor === 0) continue;
      for (let j = 0; j < n; j++)
        result[i * n + j] = (result[i * n + j] as number) + factor * (b[k * n + j] as number);
    }
  }
  return result;
}
