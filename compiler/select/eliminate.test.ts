import { expect, test } from 'vitest';
import { normal, seededRandom } from '../../graph/random.ts';
import { cholesky, inverse, solveFactored, submatrix } from '../linearAlgebra/cholesky.ts';
import { eliminate } from './eliminate.ts';

const taps = 2;
const channels = 6;
const n = channels * taps + 1;
const outputs = 3;

function example(seed: number) {
  const random = seededRandom(seed);
  const rows = Array.from({ length: 80 }, () => {
    const row = Array.from({ length: n - 1 }, () => normal(random));
    // Channel 2 says almost what channel 0 says: losing one of them costs little.
    for (let tap = 0; tap < taps; tap++) row[2 * taps + tap] = (row[tap] ?? 0) + 0.01 * normal(random);
    return [...row, 1];
  });
  const gram = new Float64Array(n * n);
  for (const row of rows)
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++)
        gram[i * n + j] = (gram[i * n + j] ?? 0) + ((row[i] ?? 0) * (row[j] ?? 0)) / 80;
  const weights = Float64Array.from({ length: outputs * n }, () => normal(random));
  return { gram, weights };
}

/** Squared error of the best weights without the lost channels, by solving the normal equations afresh. */
function errorWithout(gram: Float64Array, weights: Float64Array, lost: readonly number[]): number {
  const kept = Array.from({ length: n }, (_, i) => i).filter((i) => !lost.includes(Math.floor(i / taps)));
  const factor = cholesky(submatrix(gram, n, kept), kept.length);
  let error = 0;
  for (let output = 0; output < outputs; output++) {
    const row = weights.subarray(output * n, (output + 1) * n);
    const times = (i: number) => row.reduce((sum, w, j) => sum + w * (gram[i * n + j] ?? 0), 0);
    const right = Float64Array.from(kept, times);
    const solved = solveFactored(factor, kept.length, right.slice());
    error +=
      row.reduce((sum, w, i) => sum + w * times(i), 0) -
      right.reduce((sum, r, i) => sum + r * (solved[i] ?? 0), 0);
  }
  return error;
}

test.each([1, 2, 3])('each loss is what fitting again without the channel costs (seed %i)', (seed) => {
  const { gram, weights } = example(seed);
  const candidates = [0, 1, 2, 4, 5];
  const losses = eliminate({ inverseGram: inverse(gram, n), n, taps, weights, candidates });
  expect(losses.map(({ channel }) => channel).sort()).toEqual(candidates);
  const lost: number[] = [];
  let before = 0;
  for (const { channel, error } of losses) {
    const cheapest = Math.min(
      ...candidates
        .filter((other) => !lost.includes(other))
        .map((other) => errorWithout(gram, weights, [...lost, other]) - before),
    );
    lost.push(channel);
    expect(error).toBeCloseTo(errorWithout(gram, weights, lost) - before, 6);
    expect(error).toBeCloseTo(cheapest, 6);
    before += error;
  }
  // One of the pair goes first, for almost nothing, the other one late.
  expect([0, 2]).toContain(losses[0]?.channel);
  expect(losses[0]?.error).toBeLessThan(0.01 * before);
});
