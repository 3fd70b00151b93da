/**
 * What each feature is worth to each shard that does not own it: the error its absence adds to the contractions that read
 * it there, after the rest is re-fitted, relative to the variance of what they make.
 */
import type { Graph } from '../../graph/graph.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { ownOutputs } from '../adjust/blocks.ts';
import { type Contraction, withBias } from '../calibrate/contractions.ts';
import type { Gram } from '../calibrate/gram.ts';
import { inverse } from '../linearAlgebra/cholesky.ts';
import { quadraticForms } from '../linearAlgebra/quadraticForm.ts';
import { eliminate } from './eliminate.ts';
import type { Feature, Source } from './features.ts';

/** A feature that could travel to one reader. */
export interface Candidate {
  readonly feature: Feature;
  readonly reader: number;
  readonly score: number;
}

export function candidateKey({ value, channel }: Feature, reader: number): string {
  return `${reader} ${channel} ${value}`;
}

export interface ScoreInput {
  readonly graph: Graph;
  readonly division: Division;
  readonly sources: ReadonlyMap<Contraction, readonly Source[]>;
  /** Keeps the Gram matrices definite; relative to their mean diagonal. */
  readonly ridge: number;
  /** What a relative error of this contraction counts against one of another. */
  readonly weight: (contraction: Contraction) => number;
}

/** Contractions wider than this are scored without re-fitting: elimination is cubic. */
const eliminationWidth = 2500;

/** Channels in the order in which a shard loses them, and what that costs the outputs: never less than the one before. */
export type Losses = (shard: number, channels: readonly number[]) => readonly Worth[];

export interface Worth {
  readonly channel: number;
  readonly score: number;
}

/** What a shard loses with some of a contraction's input channels. */
export function lossesOf(
  contraction: Contraction,
  { matrix, width }: Gram,
  { graph, division, ridge, weight }: ScoreInput,
): Losses {
  const gram = ridged(matrix, width, ridge);
  const weights = withBias(graph, contraction);
  const scale = weight(contraction) / outputVariance(weights, gram, width);
  const inverted = width <= eliminationWidth ? inverse(gram, width) : gram;
  const { taps } = contraction;
  return (shard, channels) => {
    const outputs = ownOutputs(division, contraction, shard) ?? [];
    if (channels.length === 0 || outputs.length === 0) return [];
    const rows = new Float64Array(outputs.length * width);
    outputs.forEach((output, row) => {
      rows.set(weights.subarray(output * width, (output + 1) * width), row * width);
    });
    const losses =
      width <= eliminationWidth
        ? eliminate({ inverseGram: inverted, n: width, taps, weights: rows, candidates: channels })
        : energies(gram, width, taps, rows, channels);
    let worth = 0;
    return losses.map(({ channel, error }) => {
      worth = Math.max(worth, error * scale);
      return { channel, score: worth };
    });
  };
}

/** Scores of one contraction's features of other shards by candidate key, added into `scores`. */
export function scoreContraction(
  contraction: Contraction,
  losses: Losses,
  { division, sources }: ScoreInput,
  scores: Map<string, Candidate>,
): void {
  const source = sources.get(contraction) ?? [];
  for (let shard = 0; shard < division.numShards; shard++) {
    const foreign = source.flatMap((from, channel) =>
      from !== 'everywhere' && from.owner !== shard ? [channel] : [],
    );
    for (const { channel, score } of losses(shard, foreign)) {
      const feature = source[channel];
      if (feature === undefined || feature === 'everywhere') continue;
      const key = candidateKey(feature, shard);
      const before = scores.get(key)?.score ?? 0;
      scores.set(key, { feature, reader: shard, score: before + score });
    }
  }
}

function ridged(matrix: Float64Array, width: number, ridge: number): Float64Array {
  const result = matrix.slice();
  let trace = 0;
  for (let i = 0; i < width; i++) trace += matrix[i * width + i] ?? 0;
  for (let i = 0; i < width; i++)
    result[i * width + i] = (result[i * width + i] ?? 0) + (ridge * trace) / width;
  return result;
}

/** Of what rows of weights, the constant's last, make; summed over the rows. */
export function outputVariance(weights: Float64Array, gram: Float64Array, width: number): number {
  let means = 0;
  for (let row = 0; row < weights.length; row += width) {
    let mean = 0;
    for (let i = 0; i < width; i++)
      mean += (weights[row + i] as number) * (gram[i * width + width - 1] as number);
    means += mean * mean;
  }
  return Math.max(quadraticForms(gram, width, weights) - means, Number.MIN_VALUE);
}

/** Energy that each channel adds, the least first. */
function energies(
  gram: Float64Array,
  width: number,
  taps: number,
  rows: Float64Array,
  channels: readonly number[],
): { channel: number; error: number }[] {
  const list = channels.map((channel) => {
    let error = 0;
    for (let row = 0; row < rows.length; row += width) {
      for (let i = channel * taps; i < (channel + 1) * taps; i++) {
        for (let j = channel * taps; j < (channel + 1) * taps; j++)
          error += (rows[row + i] as number) * (gram[i * width + j] as number) * (rows[row + j] as number);
      }
    }
    return { channel, error };
  });
  return list.sort((a, b) => a.error - b.error);
}
