/**
 * Fits one contraction: for each shard, the weights of its support that come nearest to the target over all rows, drawn
 * towards the old weights by a ridge, the bias with them. Other errors than squares are majorised by squares about what
 * the last sweep made, so that every sweep is a regression with the same matrix; each starts a little beyond the last
 * (Nesterov), because one alone goes only part of the way.
 *
 * Rows that are left out choose the ridge, so that a contraction is never worse on unseen rows than one whose weights are
 * only removed and whose bias is re-fitted: that is the end of the scale.
 */
import { accumulate } from '../calibrate/gram.ts';
import type { Products } from '../linearAlgebra/products.ts';
import { quadraticForms } from '../linearAlgebra/quadraticForm.ts';
import type { Block } from './blocks.ts';
import { type ErrorOptions, errorOf, lessAddends, pseudoTargets } from './errors.ts';
import type { RowBatch } from './rows.ts';
import { prepareSolver, type Solver } from './solver.ts';
import type { Bounds, ErrorKind } from './targets.ts';

export interface FitOptions {
  readonly rows: AsyncIterable<RowBatch>;
  readonly products: Products;
  readonly outputs: number;
  readonly width: number;
  readonly blocks: readonly Block[];
  /** outputs x width: the old weights, bias last. */
  readonly old: Float64Array;
  /** Relative to the mean diagonal of the Gram matrix; a larger one if it does better on rows left out. */
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
  /** Of all rows: of what the contraction reads, whether or not its blocks do. */
  readonly sums: Sums;
}

export async function fitContraction(options: FitOptions): Promise<Fit> {
  const { width, outputs, blocks, old, error: kind, bounds = relu } = options;
  const { fitted, leftOut, kept } = await gatherSums(options);
  const some = leftOut.rows > 0;
  const ridge = some ? betterRidge(options, fitted, leftOut) : options.ridge;
  const all = some ? added(fitted, leftOut) : fitted;
  const solver = prepareSolver(all.gram, width, blocks, ridge);
  const first = solver(all.cross, old, outputs);
  const variance = varianceOf(all, outputs);
  const error = (all.squares - explained(all, first, width, outputs)) / (all.rows * outputs);
  if (kind === 'squares') return { weights: first, error, variance, sums: all };
  // Softer than the scores are: near certainty says little about which class comes second.
  const temperature = Math.max(Math.sqrt(variance), Number.MIN_VALUE);
  const counted: ErrorOptions = { outputs, temperature, bounds };
  const weights = await swept(options, { solver, first, kept, counted, few: isFew(all, options) });
  if (!some) return { weights, error, variance, sums: all };
  // The rows left out have seen the sweeps, but no sweep has more freedom than the regression that they chose.
  const unseen = kept.filter((_, index) => isLeftOut(index));
  const removed = prepareSolver(all.gram, width, blocks, Number.POSITIVE_INFINITY)(all.cross, old, outputs);
  const choices = [];
  for (const choice of [weights, first, removed])
    choices.push({ choice, missed: await missedBy(choice, unseen, options, counted) });
  const least = choices.reduce((a, b) => (b.missed < a.missed ? b : a));
  return { weights: least.choice, error, variance, sums: all };
}

const relu: Bounds = { low: 0, high: Number.POSITIVE_INFINITY };

/** Rows per column below which a fit may learn its rows by heart. */
const fewRows = 20;

/** One batch of so many is left out to choose a ridge: the second, so that two batches leave one. */
const leaveOut = 5;

const isLeftOut = (index: number) => index % leaveOut === 1;

export interface Sums {
  /** X'X and X'Y of the rows. */
  readonly gram: Float64Array;
  readonly cross: Float64Array;
  /** Of the targets, for each output. */
  readonly sums: Float64Array;
  readonly squares: number;
  readonly rows: number;
}

const isFew = ({ rows }: Sums, { width }: FitOptions) => rows < fewRows * width;

async function gatherSums({ rows, products, outputs, width, error }: FitOptions) {
  const empty = () => ({
    gram: new Float64Array(width * width),
    cross: new Float64Array(width * outputs),
    sums: new Float64Array(outputs),
    squares: 0,
    rows: 0,
  });
  const [fitted, leftOut] = [empty(), empty()];
  const kept: RowBatch[] = [];
  let index = 0;
  for await (const batch of rows) {
    if (error !== 'squares') kept.push(batch);
    const into = isLeftOut(index++) ? leftOut : fitted;
    const wanted = lessAddends(batch.targets, batch.addends);
    accumulate(into.gram, await products.transposedProduct(batch.inputs, batch.inputs, batch.rows));
    accumulate(into.cross, await products.transposedProduct(batch.inputs, wanted, batch.rows));
    for (let i = 0; i < wanted.length; i++) {
      const value = wanted[i] as number;
      into.squares += value * value;
      into.sums[i % outputs] = (into.sums[i % outputs] as number) + value;
    }
    into.rows += batch.rows;
  }
  return { fitted, leftOut, kept };
}

function added(a: Sums, b: Sums): Sums {
  const sum = (left: Float64Array, right: Float64Array) =>
    left.map((value, i) => value + (right[i] as number));
  return {
    gram: sum(a.gram, b.gram),
    cross: sum(a.cross, b.cross),
    sums: sum(a.sums, b.sums),
    squares: a.squares + b.squares,
    rows: a.rows + b.rows,
  };
}

/** Mean over outputs of the targets' variance. */
function varianceOf({ sums, squares, rows }: Sums, outputs: number): number {
  return (squares / rows - sums.reduce((total, sum) => total + (sum / rows) ** 2, 0)) / outputs;
}

/** Powers of ten above the given ridge that are tried, and one that draws without end. */
const ridgePowers = 6;

/** The first ridge, from the given one upwards, after which rows that are left out are explained no better; the infinite one if that is best. */
function betterRidge(options: FitOptions, fitted: Sums, leftOut: Sums): number {
  const { width, outputs, blocks, old, ridge } = options;
  const explains = (candidate: number) => {
    const weights = prepareSolver(fitted.gram, width, blocks, candidate)(fitted.cross, old, outputs);
    return explained(leftOut, weights, width, outputs);
  };
  let best = { ridge, explained: explains(ridge) };
  for (let power = 1; power <= ridgePowers; power++) {
    const candidate = ridge * 10 ** power;
    const next = explains(candidate);
    if (next <= best.explained) break;
    best = { ridge: candidate, explained: next };
  }
  const removed = explains(Number.POSITIVE_INFINITY);
  return removed > best.explained ? Number.POSITIVE_INFINITY : best.ridge;
}

interface Sweeping {
  readonly solver: Solver;
  readonly first: Float64Array;
  readonly kept: readonly RowBatch[];
  readonly counted: ErrorOptions;
  readonly few: boolean;
}

async function swept(
  { products, width, outputs, old, error: kind, sweeps }: FitOptions,
  { solver, first, kept, counted, few }: Sweeping,
): Promise<Float64Array> {
  let weights = first;
  let last = first;
  let ahead = first;
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const transposed = transpose(ahead, outputs, width);
    const cross = new Float64Array(width * outputs);
    for (const batch of kept) {
      const made = await products.product(batch.inputs, transposed, batch.rows);
      const wanted = pseudoTargets[kind](batch, made, counted);
      accumulate(cross, await products.transposedProduct(batch.inputs, wanted, batch.rows));
    }
    weights = solver(cross, kind === 'scores' && !few ? ahead : old, outputs);
    const momentum = sweep / (sweep + 3);
    ahead = weights.map((value, i) => value + momentum * (value - (last[i] as number)));
    last = weights;
  }
  return weights;
}

async function missedBy(
  weights: Float64Array,
  batches: readonly RowBatch[],
  { products, width, outputs, error: kind }: FitOptions,
  counted: ErrorOptions,
): Promise<number> {
  const transposed = transpose(weights, outputs, width);
  let missed = 0;
  for (const batch of batches)
    missed += errorOf[kind](batch, await products.product(batch.inputs, transposed, batch.rows), counted);
  return missed;
}

function transpose(matrix: Float64Array, rows: number, columns: number): Float32Array {
  const result = new Float32Array(matrix.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) result[j * rows + i] = matrix[i * columns + j] as number;
  }
  return result;
}

/** Sum over outputs of 2 w'c - w'Gw. */
export function explained(
  { gram, cross }: Sums,
  weights: Float64Array,
  width: number,
  outputs: number,
): number {
  let linear = 0;
  for (let o = 0; o < outputs; o++) {
    for (let i = 0; i < width; i++)
      linear += (weights[o * width + i] as number) * (cross[i * outputs + o] as number);
  }
  return 2 * linear - quadraticForms(gram, width, weights);
}
