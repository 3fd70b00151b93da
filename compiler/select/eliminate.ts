/**
 * Backward elimination: which of a contraction's input channels a shard can lose at the least error, when the weights of
 * those that stay are re-fitted after each loss (exact for least squares, by downdating the inverse of the Gram matrix).
 */
import { inverse } from '../linearAlgebra/cholesky.ts';

export interface EliminateInput {
  /** Inverse of the Gram matrix of the columns, n x n; overwritten. */
  readonly inverseGram: Float64Array;
  readonly n: number;
  /** Columns of each channel. */
  readonly taps: number;
  /** rows x n: the weights of the shard's outputs, which are the optimum while nothing is lost. */
  readonly weights: Float64Array;
  /** Channels that may be lost. */
  readonly candidates: readonly number[];
}

export interface Loss {
  readonly channel: number;
  /** Mean squared error added over all rows when this channel goes, after those before it in the list. */
  readonly error: number;
}

/** In the order in which channels are lost. */
export function eliminate({ inverseGram, n, taps, weights, candidates }: EliminateInput): readonly Loss[] {
  const current = weights.slice();
  const left = new Set(candidates);
  const losses: Loss[] = [];
  while (left.size > 0) {
    let best: { channel: number; error: number; block: Float64Array } | undefined;
    for (const channel of left) {
      const block = invertedBlock(inverseGram, n, channel * taps, taps);
      const error = lossOf(current, n, channel * taps, taps, block);
      if (best === undefined || error < best.error) best = { channel, error, block };
    }
    if (best === undefined) break;
    remove(inverseGram, current, n, best.channel * taps, taps, best.block);
    left.delete(best.channel);
    losses.push({ channel: best.channel, error: best.error });
  }
  return losses;
}

/** Inverse of the diagonal block that starts at `start`. */
function invertedBlock(matrix: Float64Array, n: number, start: number, taps: number): Float64Array {
  const block = new Float64Array(taps * taps);
  for (let i = 0; i < taps; i++) {
    for (let j = 0; j < taps; j++) block[i * taps + j] = matrix[(start + i) * n + start + j] ?? 0;
  }
  return inverse(block, taps);
}

/** Sum over rows of b' P b, b the row's weights of the channel. */
function lossOf(weights: Float64Array, n: number, start: number, taps: number, block: Float64Array): number {
  let total = 0;
  for (let row = 0; row < weights.length; row += n) {
    for (let i = 0; i < taps; i++) {
      const left = weights[row + start + i] as number;
      for (let j = 0; j < taps; j++) {
        total += left * (block[i * taps + j] as number) * (weights[row + start + j] as number);
      }
    }
  }
  return total;
}

/** Takes the channel out: what its columns explained goes to the others as well as they can. */
function remove(
  inverseGram: Float64Array,
  weights: Float64Array,
  n: number,
  start: number,
  taps: number,
  block: Float64Array,
): void {
  // P x rows of the inverse: taps x n.
  const projected = new Float64Array(taps * n);
  for (let i = 0; i < taps; i++) {
    for (let j = 0; j < taps; j++) {
      const factor = block[i * taps + j] as number;
      const source = (start + j) * n;
      for (let k = 0; k < n; k++)
        projected[i * n + k] =
          (projected[i * n + k] as number) + factor * (inverseGram[source + k] as number);
    }
  }
  const subtract = (target: Float64Array, rows: number) => {
    for (let row = 0; row < rows; row++) {
      const factors = target.slice(row * n + start, row * n + start + taps);
      for (let i = 0; i < taps; i++) {
        const factor = factors[i] as number;
        if (factor === 0) continue;
        for (let k = 0; k < n; k++)
          target[row * n + k] = (target[row * n + k] as number) - factor * (projected[i * n + k] as number);
      }
    }
  };
  subtract(weights, weights.length / n);
  subtract(inverseGram, n);
  // What is gone stays gone, whatever rounding left.
  for (let i = start; i < start + taps; i++) {
    for (let k = 0; k < n; k++) {
      inverseGram[i * n + k] = 0;
      inverseGram[k * n + i] = 0;
    }
    inverseGram[i * n + i] = 1;
    for (let row = 0; row < weights.length; row += n) weights[row + i] = 0;
  }
}
