/**
 * Backward elimination: which of a contraction's input channels a shard can lose at the least error, when the weights of
 * those that stay are re-fitted after each loss (exact for least squares, by downdating the inverse of the Gram matrix).
 */
import { inverse, submatrix } from '../linearAlgebra/cholesky.ts';

export interface EliminateInput {
  /** Inverse of the Gram matrix of the columns, n x n. */
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

/** Only the columns of the candidates, which is all that losing one of them changes for the others. */
interface Reduced {
  /** size x size at first; only what is left of it stays in use, row length `size`. */
  readonly inverseGram: Float64Array;
  readonly size: number;
  readonly weights: Float64Array;
  readonly rows: number;
  readonly taps: number;
  /** Candidates in the order of their columns. */
  readonly channels: number[];
}

/** In the order in which channels are lost. */
export function eliminate(input: EliminateInput): readonly Loss[] {
  const reduced = reduce(input);
  const { channels } = reduced;
  const losses: Loss[] = [];
  while (channels.length > 0) {
    let best: { slot: number; error: number; block: Float64Array } | undefined;
    for (let slot = 0; slot < channels.length; slot++) {
      const block = invertedBlock(reduced, slot);
      const error = lossOf(reduced, slot, block);
      if (best === undefined || error < best.error) best = { slot, error, block };
    }
    if (best === undefined) break;
    losses.push({ channel: channels[best.slot] ?? 0, error: best.error });
    remove(reduced, best.slot, best.block);
  }
  return losses;
}

function reduce({ inverseGram, n, taps, weights, candidates }: EliminateInput): Reduced {
  const columns = candidates.flatMap((channel) =>
    Array.from({ length: taps }, (_, tap) => channel * taps + tap),
  );
  const size = columns.length;
  const rows = weights.length / n;
  const reducedWeights = new Float64Array(rows * size);
  columns.forEach((column, i) => {
    for (let row = 0; row < rows; row++) reducedWeights[row * size + i] = weights[row * n + column] as number;
  });
  const square = submatrix(inverseGram, n, columns);
  return { inverseGram: square, size, weights: reducedWeights, rows, taps, channels: [...candidates] };
}

/** Inverse of the diagonal block of a slot. */
function invertedBlock({ inverseGram, size, taps }: Reduced, slot: number): Float64Array {
  const start = slot * taps;
  if (taps === 1) return Float64Array.of(1 / (inverseGram[start * size + start] as number));
  const block = new Float64Array(taps * taps);
  for (let i = 0; i < taps; i++) {
    for (let j = 0; j < taps; j++)
      block[i * taps + j] = inverseGram[(start + i) * size + start + j] as number;
  }
  return inverse(block, taps);
}

/** Sum over rows of b' P b, b the row's weights of the slot. */
function lossOf({ weights, size, rows, taps }: Reduced, slot: number, block: Float64Array): number {
  let total = 0;
  for (let row = 0; row < rows; row++) {
    const start = row * size + slot * taps;
    for (let i = 0; i < taps; i++) {
      const left = weights[start + i] as number;
      for (let j = 0; j < taps; j++)
        total += left * (block[i * taps + j] as number) * (weights[start + j] as number);
    }
  }
  return total;
}

/** Takes a slot out: what its columns explained goes to the others as well as they can; the last slot moves to its place. */
function remove(reduced: Reduced, slot: number, block: Float64Array): void {
  const { inverseGram, weights, size, rows, taps, channels } = reduced;
  const used = channels.length * taps;
  const start = slot * taps;
  // P x rows of the inverse: taps x used.
  const projected = new Float64Array(taps * used);
  for (let i = 0; i < taps; i++) {
    for (let j = 0; j < taps; j++) {
      const factor = block[i * taps + j] as number;
      const source = (start + j) * size;
      for (let k = 0; k < used; k++)
        projected[i * used + k] =
          (projected[i * used + k] as number) + factor * (inverseGram[source + k] as number);
    }
  }
  const subtract = (target: Float64Array, row: number) => {
    const factors = target.slice(row * size + start, row * size + start + taps);
    for (let i = 0; i < taps; i++) {
      const factor = factors[i] as number;
      if (factor === 0) continue;
      for (let k = 0; k < used; k++)
        target[row * size + k] =
          (target[row * size + k] as number) - factor * (projected[i * used + k] as number);
    }
  };
  for (let row = 0; row < rows; row++) subtract(weights, row);
  for (let row = 0; row < used; row++) subtract(inverseGram, row);
  const last = used - taps;
  for (let row = 0; row < rows; row++)
    weights.copyWithin(row * size + start, row * size + last, row * size + used);
  for (let row = 0; row < used; row++)
    inverseGram.copyWithin(row * size + start, row * size + last, row * size + used);
  inverseGram.copyWithin(start * size, last * size, last * size + taps * size);
  channels[slot] = channels.at(-1) ?? 0;
  channels.pop();
}
