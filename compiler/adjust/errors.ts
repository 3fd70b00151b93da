/**
 * How far what a contraction makes is from its target, for each kind of error, and the target of squares that majorises it.
 * Fits nothing.
 */
import type { RowBatch } from './rows.ts';
import type { Bounds, ErrorKind } from './targets.ts';

export interface ErrorOptions {
  readonly outputs: number;
  /** What scores are divided by. */
  readonly temperature: number;
  readonly bounds: Bounds;
}

/** `made` is rows x outputs, without the batch's addends. */
type OfRows<Result> = (batch: RowBatch, made: Float32Array, options: ErrorOptions) => Result;

/** Targets of squares about what is made: their error is never less than the kind's own, and equal there. */
export const pseudoTargets: { readonly [Kind in ErrorKind]: OfRows<Float32Array> } = {
  squares: ({ targets, addends }) => lessAddends(targets, addends),
  /** Where the target is beyond a bound and what is made too, what is made is right as it is. */
  rectified({ targets, addends }, made, { bounds: { low, high } }) {
    // A loop: this runs over every row of every sweep.
    const wanted = new Float32Array(targets.length);
    for (let i = 0; i < targets.length; i++) {
      const target = targets[i] as number;
      const added = addends === undefined ? 0 : (addends[i] as number);
      const sum = (made[i] as number) + added;
      wanted[i] =
        (target <= low ? Math.min(sum, low) : target >= high ? Math.max(sum, high) : target) - added;
    }
    return wanted;
  },
  /** The softmax's curvature is at most 1/2 (Boehning and Lindsay 1988): a step of twice the gradient. */
  scores({ targets, addends }, made, { outputs, temperature }) {
    const wanted = softmaxRows(targets, outputs, temperature);
    const got = softmaxRows(withAddends(made, addends), outputs, temperature);
    return made.map((value, i) => value + 2 * temperature * ((wanted[i] as number) - (got[i] as number)));
  },
};

/** Summed over rows and outputs. */
export const errorOf: { readonly [Kind in ErrorKind]: OfRows<number> } = {
  squares: (batch, made, options) => squaresBetween(pseudoTargets.squares(batch, made, options), made),
  rectified: (batch, made, options) => squaresBetween(pseudoTargets.rectified(batch, made, options), made),
  /** Cross entropy. */
  scores({ targets, addends }, made, { outputs, temperature }) {
    const wanted = softmaxRows(targets, outputs, temperature);
    const got = softmaxRows(withAddends(made, addends), outputs, temperature);
    return wanted.reduce((sum, p, i) => sum - p * Math.log(Math.max(got[i] as number, 1e-30)), 0);
  },
};

export function lessAddends(targets: Float32Array, addends: Float32Array | undefined): Float32Array {
  return addends === undefined ? targets : targets.map((target, i) => target - (addends[i] as number));
}

function withAddends(made: Float32Array, addends: Float32Array | undefined): Float32Array {
  return addends === undefined ? made : made.map((value, i) => value + (addends[i] as number));
}

function squaresBetween(wanted: Float32Array, made: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < wanted.length; i++) sum += ((wanted[i] as number) - (made[i] as number)) ** 2;
  return sum;
}

function softmaxRows(scores: Float32Array, length: number, temperature: number): Float32Array {
  const result = new Float32Array(scores.length);
  for (let start = 0; start < scores.length; start += length) {
    const row = scores.subarray(start, start + length);
    const largest = row.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    let sum = 0;
    for (let i = 0; i < length; i++) {
      const power = Math.exp(((row[i] as number) - largest) / temperature);
      result[start + i] = power;
      sum += power;
    }
    for (let i = 0; i < length; i++) result[start + i] = (result[start + i] as number) / sum;
  }
  return result;
}
