import { afterAll, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { normal, seededRandom } from '../../graph/random.ts';
import { openProducts } from '../linearAlgebra/products.ts';
import { type FitOptions, fitContraction } from './fit.ts';
import type { RowBatch } from './rows.ts';
import type { ErrorKind } from './targets.ts';

const products = await openProducts(await createHeapBackend());
afterAll(() => products.release());

const inputs = 6;
const width = inputs + 1;
const outputs = 4;
const blocks = [
  { outputs: [0, 1], columns: [0, 1, 2, 5, 6] },
  { outputs: [2, 3], columns: [3, 4, 5, 6] },
];

/** Two batches whose targets need all inputs, though each block may read only some. */
function example(seed: number, withAddends: boolean) {
  const random = seededRandom(seed);
  const weights = Float64Array.from({ length: outputs * width }, () => normal(random));
  const batches = [40, 60].map((rows): RowBatch => {
    const x = Float32Array.from({ length: rows * width }, (_, i) =>
      i % width === inputs ? 1 : normal(random),
    );
    const targets = Float32Array.from({ length: rows * outputs }, (_, i) => {
      const row = Math.floor(i / outputs) * width;
      let sum = 0;
      for (let k = 0; k < width; k++) sum += (x[row + k] ?? 0) * (weights[(i % outputs) * width + k] ?? 0);
      return sum;
    });
    const addends = withAddends ? targets.map(() => 0.5 * normal(random)) : undefined;
    return { rows, inputs: x, targets, addends };
  });
  return { weights, batches };
}

function joined(batches: readonly RowBatch[]): RowBatch {
  const all = (part: (batch: RowBatch) => Float32Array) =>
    Float32Array.from(batches.flatMap((b) => [...part(b)]));
  return {
    rows: batches.reduce((sum, { rows }) => sum + rows, 0),
    inputs: all((batch) => batch.inputs),
    targets: all((batch) => batch.targets),
    addends: batches.every(({ addends }) => addends !== undefined)
      ? all(({ addends }) => addends ?? new Float32Array(0))
      : undefined,
  };
}

async function* stream(batches: readonly RowBatch[]): AsyncGenerator<RowBatch> {
  yield* batches;
}

function made({ inputs: x, rows, addends }: RowBatch, weights: Float64Array): number[] {
  return Array.from({ length: rows * outputs }, (_, i) => {
    const row = Math.floor(i / outputs) * width;
    let sum = addends?.[i] ?? 0;
    for (let k = 0; k < width; k++) sum += (x[row + k] ?? 0) * (weights[(i % outputs) * width + k] ?? 0);
    return sum;
  });
}

function softmax(scores: readonly number[]): number[] {
  const powers = scores.map(Math.exp);
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

const errorOf: { readonly [Kind in ErrorKind]: (batch: RowBatch, values: readonly number[]) => number } = {
  squares: ({ targets }, values) =>
    values.reduce((sum, value, i) => sum + (value - (targets[i] ?? 0)) ** 2, 0),
  rectified: ({ targets }, values) =>
    values.reduce((sum, value, i) => {
      const target = targets[i] ?? 0;
      return sum + (target > 0 ? value - target : Math.max(0, value)) ** 2;
    }, 0),
  scores({ targets, rows }, values) {
    let total = 0;
    for (let row = 0; row < rows; row++) {
      const wanted = softmax([...targets.subarray(row * outputs, (row + 1) * outputs)]);
      const got = softmax(values.slice(row * outputs, (row + 1) * outputs));
      total -= wanted.reduce((sum, p, i) => sum + p * Math.log(got[i] ?? 0), 0);
    }
    return total;
  },
};

const error = (kind: ErrorKind, batches: readonly RowBatch[], weights: Float64Array) =>
  batches.reduce((sum, batch) => sum + errorOf[kind](batch, made(batch, weights)), 0);

function options(seed: number, kind: ErrorKind, changes: Partial<FitOptions> = {}) {
  const { weights, batches: two } = example(seed, true);
  // One batch leaves none out, so that the ridge is the given one.
  const batches = [joined(two)];
  const old = weights.map((value) => value + 0.1);
  const given = { products, outputs, width, blocks, old, ridge: 1e-9, error: kind, sweeps: 30, ...changes };
  return { batches, old, given };
}

test('squares: no small change inside the blocks is better, and nothing is outside', async () => {
  const { batches, given } = options(1, 'squares');
  const fitted = await fitContraction({ ...given, rows: stream(batches) });
  const least = error('squares', batches, fitted.weights);
  expect(fitted.error).toBeCloseTo(least / (100 * outputs), 4);
  for (const block of blocks) {
    for (const output of block.outputs) {
      for (let column = 0; column < width; column++) {
        const at = output * width + column;
        if (!block.columns.includes(column)) {
          expect(fitted.weights[at]).toBe(0);
          continue;
        }
        for (const step of [-0.02, 0.02]) {
          const changed = fitted.weights.slice();
          changed[at] = (changed[at] ?? 0) + step;
          expect(error('squares', batches, changed)).toBeGreaterThan(least);
        }
      }
    }
  }
});

test.each(['rectified', 'scores'] as const)('%s: sweeps lower the error that counts', async (kind) => {
  for (const seed of [2, 3]) {
    const errors: number[] = [];
    for (const sweeps of [0, 2, 30]) {
      const { batches, given } = options(seed, kind, { sweeps });
      const { weights } = await fitContraction({ ...given, rows: stream(batches) });
      errors.push(error(kind, batches, weights));
    }
    expect(errors[1]).toBeLessThan(errors[0] ?? 0);
    expect(errors[2]).toBeLessThan(errors[1] ?? 0);
  }
});

test.each([1e9, Number.POSITIVE_INFINITY])(
  'a ridge of %d keeps the old weights and fits the bias',
  async (ridge) => {
    const { batches, old, given } = options(4, 'squares', { ridge });
    const { weights } = await fitContraction({ ...given, rows: stream(batches) });
    for (const { outputs: kept, columns } of blocks) {
      for (const output of kept) {
        for (const column of columns.filter((other) => other !== inputs))
          expect(weights[output * width + column]).toBeCloseTo(old[output * width + column] ?? 0, 5);
        const missed = batches.flatMap((batch) =>
          made(batch, weights).flatMap((value, i) =>
            i % outputs === output ? [value - (batch.targets[i] ?? 0)] : [],
          ),
        );
        expect(missed.reduce((a, b) => a + b, 0) / missed.length).toBeCloseTo(0, 5);
      }
    }
  },
);

test.each(['squares', 'rectified', 'scores'] as const)(
  '%s: what does worse on rows left out than removing alone is not taken',
  async (kind) => {
    // The old weights are right but for what is removed; the rows that are fitted say something else.
    const { weights: right, batches } = example(11, false);
    const [truth] = batches;
    const random = seededRandom(12);
    const misled = batches.map((batch) => ({
      ...batch,
      targets: batch.targets.map(() => 5 * normal(random)),
    }));
    const { given } = options(11, kind, { old: right });
    const rows = [misled[0], truth, misled[1]].flatMap((batch) => (batch === undefined ? [] : [batch]));
    const removed = await fitContraction({
      ...given,
      ridge: Number.POSITIVE_INFINITY,
      sweeps: 0,
      rows: stream(rows),
    });
    const fitted = await fitContraction({ ...given, rows: stream(rows) });
    const unseen = rows.slice(1, 2);
    expect(error(kind, unseen, fitted.weights)).toBeLessThanOrEqual(error(kind, unseen, removed.weights));
  },
);

test('two equal columns without a ridge are refused', async () => {
  const { batches, given } = options(5, 'squares', { ridge: 0 });
  const equal = batches.map((batch) => ({
    ...batch,
    inputs: batch.inputs.map((value, i) => (i % width === 1 ? 0 : value)),
  }));
  await expect(fitContraction({ ...given, rows: stream(equal) })).rejects.toThrow(/singular/);
});

test('beyond the bounds of a Clip nothing counts', async () => {
  const bounds = { low: -0.5, high: 1 };
  const missed = (value: number, target: number) =>
    target <= bounds.low
      ? Math.max(0, value - bounds.low)
      : target >= bounds.high
        ? Math.max(0, bounds.high - value)
        : value - target;
  const errors: number[] = [];
  for (const sweeps of [0, 30]) {
    const { batches, given } = options(6, 'rectified', { sweeps, bounds });
    const { weights } = await fitContraction({ ...given, rows: stream(batches) });
    errors.push(
      batches.reduce(
        (sum, batch) =>
          sum +
          made(batch, weights).reduce((a, value, i) => a + missed(value, batch.targets[i] ?? 0) ** 2, 0),
        0,
      ),
    );
  }
  expect(errors[1]).toBeLessThan(0.9 * (errors[0] ?? 0));
});

test('few rows: noise is not learnt by heart, the old weights are kept where they are right', async () => {
  const { weights, batches } = example(7, false);
  const random = seededRandom(8);
  const all = [{ outputs: [0, 1, 2, 3], columns: [0, 1, 2, 3, 4, 5, 6] }];
  const noisy = Array.from({ length: 5 }, (_, i): RowBatch => {
    const { inputs: x, targets } = batches[0] ?? {
      inputs: new Float32Array(0),
      targets: new Float32Array(0),
    };
    return {
      rows: 4,
      inputs: x.slice(i * 4 * width, (i + 1) * 4 * width),
      targets: targets.slice(i * 4 * outputs, (i + 1) * 4 * outputs).map((value) => value + normal(random)),
      addends: undefined,
    };
  });
  const { given } = options(7, 'squares', { blocks: all, old: weights, ridge: 1e-6 });
  const fitted = await fitContraction({ ...given, rows: stream(noisy) });
  const distance = (other: Float64Array) =>
    other.reduce((sum, w, i) => sum + (w - (weights[i] ?? 0)) ** 2, 0);
  // One batch leaves nothing to choose by: that is what the fit would have been.
  const byHeart = await fitContraction({ ...given, rows: stream([joined(noisy)]) });
  expect(distance(fitted.weights)).toBeLessThan(0.3 * distance(byHeart.weights));
});
