/** A model's outputs for sample inputs, and how far those of another are from them: what contractions are weighed and selections judged by. */
import type { Model } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';
import { type Batch, type Observed, openPrefix, type Prefix } from '../calibrate/prefix.ts';
import type { Observation } from '../calibrate/walk.ts';

/** [output][batch]. */
export type Outputs = readonly (readonly Observed[])[];

export async function outputsOf(
  model: Model,
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  backend: Backend,
): Promise<Outputs> {
  const names = outputNames(model);
  const prefix = await openPrefix(model, names, backend);
  try {
    return await gathered(names, ranOn(prefix, batches));
  } finally {
    await prefix.release();
  }
}

async function* ranOn(
  prefix: Prefix,
  batches: AsyncIterable<Batch> | Iterable<Batch>,
): AsyncGenerator<Observation> {
  for await (const batch of batches) yield prefix.run(batch);
}

/** Outputs that can be compared. */
export function outputNames({ graph }: Model): string[] {
  return graph.outputs.filter(({ dataType }) => dataType === 'float32').map(({ name }) => name);
}

export async function gathered(
  names: readonly string[],
  observations: AsyncIterable<Observation>,
): Promise<Outputs> {
  const outputs = names.map((): Observed[] => []);
  for await (const values of observations) {
    for (const [i, name] of names.entries())
      outputs[i]?.push(values.get(name) ?? { dims: [], data: new Float32Array(0) });
  }
  return outputs;
}

/** A feature counts as if it were at least so large, relative to the mean of all: what is nearly always zero is mostly noise. */
const leastShare = 0.01;

/**
 * Summed over outputs: squared error relative to the squares that are expected, half of it of an output as a whole and half
 * the mean of its features. Of boxes and the scores beside them neither is lost, though the ones are numbers of cells and the
 * others nearly all zero.
 */
export function relativeError(expected: Outputs, got: Outputs): number {
  return expected.reduce((sum, batches, i) => sum + featureError(batches, got[i] ?? []), 0);
}

function featureError(expected: readonly Observed[], got: readonly Observed[]): number {
  const { count, inner } = featuresOf(expected[0]?.dims ?? []);
  const missed = new Float64Array(count);
  const squares = new Float64Array(count);
  for (const [b, { data }] of expected.entries()) {
    const other = got[b]?.data ?? new Float32Array(data.length);
    for (let start = 0, feature = 0; start < data.length; start += inner) {
      for (let k = start; k < start + inner; k++) {
        const value = data[k] as number;
        missed[feature] = (missed[feature] as number) + (value - (other[k] ?? 0)) ** 2;
        squares[feature] = (squares[feature] as number) + value * value;
      }
      feature = feature + 1 === count ? 0 : feature + 1;
    }
  }
  const all = squares.reduce((a, b) => a + b, 0);
  if (all === 0) return 0;
  const floor = (leastShare * all) / count;
  const whole = missed.reduce((a, b) => a + b, 0) / all;
  const mean =
    missed.reduce((sum, error, i) => sum + error / Math.max(squares[i] as number, floor), 0) / count;
  return (whole + mean) / 2;
}

/** Channels of maps, columns of rows of tokens; anything else is one feature. `inner`: elements of one that lie together. */
function featuresOf(dims: readonly number[]): { readonly count: number; readonly inner: number } {
  const product = (list: readonly number[]) => list.reduce((a, b) => a * b, 1);
  if (dims.length === 3) return { count: dims[2] ?? 1, inner: 1 };
  if (dims.length > 3) return { count: dims[1] ?? 1, inner: product(dims.slice(2)) };
  return { count: 1, inner: product(dims) };
}

/**
 * What counts of the outputs. Scores [N, classes] are read as a softmax reads them: the mean divergence (Kullback and
 * Leibler) of what is got from what is expected, in nats. Other outputs: relativeError.
 */
export function divergence(expected: Outputs, got: Outputs): number {
  const all = expected.flat();
  const scores = all.length > 0 && all.every(({ dims }) => dims.length === 2 && (dims[1] ?? 0) > 2);
  if (!scores) return relativeError(expected, got);
  let total = 0;
  let rows = 0;
  for (const [i, batches] of expected.entries()) {
    for (const [b, { dims, data }] of batches.entries()) {
      const length = dims[1] ?? 1;
      const other = got[i]?.[b]?.data ?? new Float32Array(data.length);
      for (let start = 0; start < data.length; start += length, rows++) {
        const p = logProbabilities(data.subarray(start, start + length));
        const q = logProbabilities(other.subarray(start, start + length));
        for (let k = 0; k < length; k++)
          total += Math.exp(p[k] as number) * ((p[k] as number) - (q[k] as number));
      }
    }
  }
  return total / Math.max(1, rows);
}

const least = 1e-6;

/** Of probabilities themselves, or of scores that are not yet. */
function logProbabilities(row: Float32Array): Float64Array {
  const sum = row.reduce((a, b) => a + b, 0);
  const probabilities = Math.abs(sum - 1) < 1e-3 && row.every((value) => value >= 0);
  if (probabilities) return Float64Array.from(row, (value) => Math.log(Math.max(value, least)));
  const largest = row.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const all = Math.log(row.reduce((a, value) => a + Math.exp(value - largest), 0)) + largest;
  return Float64Array.from(row, (value) => value - all);
}
