/**
 * Fits one contraction: for each shard, the weights of its support that come nearest to the target over all rows, drawn
 * towards the old weights by a ridge, the bias with them. Other errors than squares are majorised by squares about what
 * the last sweep made, so that every sweep is a regression with the same matrix; each starts a little beyond the last
 * (Nesterov), because one alone goes only part of the way.
 */
import { accumulate } from '../calibrate/gram.ts';
import type { Products } from '../linearAlgebra/products.ts';
import type { Block } from './blocks.ts';
import type { RowBatch } from './rows.ts';
import { prepareSolver } from './solver.ts';
import type { Bounds, ErrorKind } from './targets.ts';

export interface FitOptions {
  readonly rows: AsyncIterable<RowBatch>;
  readonly products: Products;
  readonly outputs: number;
  readonly width: number;
  readonly blocks: readonly Block[];
  /** outputs x width: the old weights, bias last. */
  readonly old: Float64Array;
  /** Relative to the mean diagonal of the Gram matrix; where rows are few, a larger one if it does better on rows left out. */
  readonly ridge: number;
  readonly error: ErrorKind;
  /** Of `rectified`; by default a Relu's. */
  readonly bounds?: Bounds;
  /** Sweeps after the first. */
  readonly sweeps: number;
}

export interface Fit {
  /** outputs x width; zero outside the supports. */
  readonly weights: Float64Array;
  /** Mean over rows and outputs of the squared error, and of the squared target less its mean. */
  readonly error: number;
  readonly variance: number;
}

export async function fitContraction(options: FitOptions): Promise<Fit> {
  const { rows, products, outputs, width, blocks, old, error: kind, sweeps, bounds = relu } = options;
  const { gram, cross: firstCross } = emptySums(width, outputs);
  const leftOut = emptySums(width, outputs);
  let cross = firstCross;
  let batches = 0;
  let count = 0;
  let squares = 0;
  const sums = new Float64Array(outputs);
  const kept: RowBatch[] = [];
  for await (const batch of rows) {
    if (kind !== 'squares') kept.push(batch);
    const wanted = lessAddends(batch.targets, batch.addends);
    const into = batches++ % leaveOut === leaveOut - 1 ? leftOut : { gram, cross };
    accumulate(into.gram, await products.transposedProduct(batch.inputs, batch.inputs, batch.rows));
    accumulate(into.cross, await products.transposedProduct(batch.inputs, wanted, batch.rows));
    for (let i = 0; i < wanted.length; i++) {
      const value = wanted[i] as number;
      squares += value * value;
      sums[i % outputs] = (sums[i % outputs] as number) + value;
    }
    count += batch.rows;
  }
  const few = count < fewRows * width && batches >= leaveOut;
  const ridge = few ? largerRidge(options, { gram, cross }, leftOut) : options.ridge;
  add(gram, leftOut.gram);
  add(cross, leftOut.cross);
  const solver = prepareSolver(gram, width, blocks, ridge);
  let weights = solver(cross, old, outputs);
  const error = (squares - explained(gram, cross, weights, width, outputs)) / (count * outputs);
  const means = sums.reduce((total, sum) => total + (sum / count) ** 2, 0);
  const variance = (squares / count - means) / outputs;
  // Softer than the scores are: near certainty says little about which class comes second.
  const temperature = Math.max(Math.sqrt(variance), Number.MIN_VALUE);
  if (kind !== 'squares') {
    let last = weights;
    let ahead = weights;
    for (let sweep = 0; sweep < sweeps; sweep++) {
      const transposed = transpose(ahead, outputs, width);
      cross = new Float64Array(width * outputs);
      for (const batch of kept) {
        const made = await products.product(batch.inputs, transposed, batch.rows);
        const wanted = pseudoTargets[kind](batch, made, { outputs, temperature, bounds });
        accumulate(cross, await products.transposedProduct(batch.inputs, wanted, batch.rows));
      }
      weights = solver(cross, kind === 'scores' && !few ? ahead : old, outputs);
      const momentum = sweep / (sweep + 3);
      ahead = weights.map((value, i) => value + momentum * (value - (last[i] as number)));
      last = weights;
    }
  }
  return { weights, error, variance };
}

const relu: Bounds = { low: 0, high: Number.POSITIVE_INFINITY };

/** Rows per column below which a fit may learn its rows by heart. */
const fewRows = 20;

/** One batch of so many is left out to choose a ridge. */
const leaveOut = 5;

interface Sums {
  readonly gram: Float64Array;
  readonly cross: Float64Array;
}

function emptySums(width: number, outputs: number): Sums {
  return { gram: new Float64Array(width * width), cross: new Float64Array(width * outputs) };
}

function add(target: Float64Array, source: Float64Array): void {
  for (let i = 0; i < target.length; i++) target[i] = (target[i] as number) + (source[i] as number);
}

/** The ridge, of the given one and powers of ten above it, whose fit to the one sums explains most of the other. */
function largerRidge(
  { width, outputs, blocks, old, ridge }: FitOptions,
  fitted: Sums,
  leftOut: Sums,
): number {
  const candidates = Array.from({ length: 7 }, (_, power) => ridge * 10 ** power);
  const explains = candidates.map((candidate) => {
    const weights = prepareSolver(fitted.gram, width, blocks, candidate)(fitted.cross, old, outputs);
    return explained(leftOut.gram, leftOut.cross, weights, width, outputs);
  });
  return candidates[explains.indexOf(Math.max(...explains))] ?? ridge;
}

function lessAddends(targets: Float32Array, addends: Float32Array | undefined): Float32Array {
  if (addends === undefined) return targets;
  return targets.map((target, i) => target - (addends[i] as number));
}

interface PseudoOptions {
  readonly outputs: number;
  readonly temperature: number;
  readonly bounds: Bounds;
}

type PseudoTargets = (batch: RowBatch, made: Float32Array, options: PseudoOptions) => Float32Array;

const pseudoTargets: { readonly [Kind in Exclude<ErrorKind, 'squares'>]: PseudoTargets } = {
  /** Where the target is beyond a bound and what is made too, what is made is right as it is. */
  rectified: ({ targets, addends }, made, { bounds: { low, high } }) =>
    targets.map((target, i) => {
      const added = addends === undefined ? 0 : (addends[i] as number);
      const sum = (made[i] as number) + added;
      const wanted = target <= low ? Math.min(sum, low) : target >= high ? Math.max(sum, high) : target;
      return wanted - added;
    }),
  /** The softmax's curvature is at most 1/2 (Boehning and Lindsay 1988): a step of twice the gradient. */
  scores({ targets, addends }, made, { outputs, temperature }) {
    const sums = addends === undefined ? made : made.map((value, i) => value + (addends[i] as number));
    const wanted = softmaxRows(targets, outputs, temperature);
    const got = softmaxRows(sums, outputs, temperature);
    return made.map((value, i) => value + 2 * temperature * ((wanted[i] as number) - (got[i] as number)));
  },
};

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

function transpose(matrix: Float64Array, rows: number, columns: number): Float32Array {
  const result = new Float32Array(matrix.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) result[j * rows + i] = matrix[i * columns + j] as number;
  }
  return result;
}

/** Sum over outputs of 2 w'c - w'Gw. */
function explained(
  gram: Float64Array,
  cross: Float64Array,
  weights: Float64Array,
  width: number,
  outputs: number,
): number {
  let total = 0;
  for (let o = 0; o < outputs; o++) {
    const row = weights.subarray(o * width, (o + 1) * width);
    for (let i = 0; i < width; i++) {
      const w = row[i] as number;
      if (w === 0) continue;
      let product = 0;
      for (let j = 0; j < width; j++) product += (gram[i * width + j] as number) * (row[j] as number);
      total += w * (2 * (cross[i * outputs + o] as number) - product);
    }
  }
  return total;
}
