/** Eigenvectors of symmetric matrices. */
import { EigenvalueDecomposition, Matrix } from 'ml-matrix';

export interface Eigenvectors {
  /** The largest first. */
  readonly values: readonly number[];
  /** Of the same order, each of length n and norm 1. */
  readonly vectors: readonly Float64Array[];
}

/** `matrix`: n x n, row-major; symmetric up to rounding. */
export function symmetricEigenvectors(matrix: Float64Array, n: number): Eigenvectors {
  const square = Matrix.from1DArray(n, n, matrix);
  const { realEigenvalues, eigenvectorMatrix } = new EigenvalueDecomposition(square, {
    assumeSymmetric: true,
  });
  const order = realEigenvalues.map((_, i) => i).sort((a, b) => valueAt(b) - valueAt(a));
  function valueAt(index: number): number {
    return realEigenvalues[index] ?? 0;
  }
  return {
    values: order.map(valueAt),
    vectors: order.map((column) => Float64Array.from(eigenvectorMatrix.getColumn(column))),
  };
}
