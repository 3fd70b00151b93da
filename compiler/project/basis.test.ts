/** Combinations explain what reduced-rank regression says they do, and no choice of features does better. */
import { expect, test } from 'vitest';
import { normal, seededRandom } from '../../graph/random.ts';
import { basis } from './basis.ts';

const count = 400;
const outputs = 5;

/** Rows of correlated numbers, the constant last; two of the features are known to the reader. */
function example(seed: number, features: number) {
  const random = seededRandom(seed);
  const n = features + 1;
  const mix = Array.from({ length: features }, () => Array.from({ length: features }, () => normal(random)));
  const rows = Array.from({ length: count }, () => {
    const noise = mix.map(() => normal(random));
    return [...mix.map((weights) => weights.reduce((sum, w, i) => sum + w * (noise[i] ?? 0), 0.5)), 1];
  });
  const gram = new Float64Array(n * n);
  for (const row of rows)
    for (let i = 0; i < n * n; i++)
      gram[i] = (gram[i] ?? 0) + ((row[Math.floor(i / n)] ?? 0) * (row[i % n] ?? 0)) / count;
  const weights = Array.from({ length: outputs }, () =>
    Array.from({ length: features - 2 }, () => normal(random)),
  );
  const size = features - 2;
  const weighed = Float64Array.from({ length: size * size }, (_, at) =>
    weights.reduce((sum, row) => sum + (row[Math.floor(at / size)] ?? 0) * (row[at % size] ?? 0), 0),
  );
  const combined = Array.from({ length: size }, (_, i) => i + 2);
  return { rows, weights, given: { gram, n, combined, known: [0, 1, n - 1], weighed, ridge: 1e-12 } };
}

/** Mean squared error of least squares from some columns, over all outputs; by Gram-Schmidt, which shares nothing with the code. */
function missed(columns: readonly (readonly number[])[], wanted: readonly (readonly number[])[]): number {
  const kept: number[][] = [];
  const left = (column: readonly number[]) => {
    const rest = [...column];
    for (let again = 0; again < 2; again++) {
      for (const direction of kept) {
        const share = direction.reduce((sum, value, i) => sum + value * (rest[i] ?? 0), 0);
        for (const [i, value] of direction.entries()) rest[i] = (rest[i] ?? 0) - share * value;
      }
    }
    return rest;
  };
  for (const column of columns) {
    const rest = left(column);
    const norm = Math.hypot(...rest);
    if (norm > 1e-9) kept.push(rest.map((value) => value / norm));
  }
  return (
    wanted.reduce((sum, column) => sum + left(column).reduce((s, value) => s + value ** 2, 0), 0) / count
  );
}

test.each([1, 2, 3])('example %i', (seed) => {
  const { rows, weights, given } = example(seed, 8);
  const column = (of: (row: readonly number[]) => number) => rows.map(of);
  const known = given.known.map((index) => column((row) => row[index] ?? 0));
  const wanted = weights.map((w) =>
    column((row) => w.reduce((sum, value, i) => sum + value * (row[i + 2] ?? 0), 0)),
  );
  const directions = basis(given);
  expect(directions).toHaveLength(given.combined.length);
  const combination = ({ row }: (typeof directions)[number]) =>
    column((values) => row.reduce((sum, value, i) => sum + value * (values[i + 2] ?? 0), 0));
  const nothing = missed(known, wanted);
  const features = given.combined.map((index) => column((row) => row[index] ?? 0));
  for (let k = 0; k <= directions.length; k++) {
    const error = missed([...known, ...directions.slice(0, k).map(combination)], wanted);
    const explained = directions.slice(0, k).reduce((sum, direction) => sum + direction.explained, 0);
    expect(nothing - error).toBeCloseTo(explained, 6);
    // Of two features at a time, the best pair.
    if (k !== 2) continue;
    const pairs = features.flatMap((a, i) =>
      features.slice(i + 1).map((b) => missed([...known, a, b], wanted)),
    );
    expect(error).toBeLessThan(Math.min(...pairs));
  }
  for (const { row } of directions) expect(Math.hypot(...row)).toBeCloseTo(1, 9);
});
