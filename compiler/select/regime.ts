/**
 * Scores features in a model that is already sparse, on its own inputs: what a contraction still misses after all before it
 * were adjusted, and how much the outputs gain where it alone is given everything. Errors of a dense model say little of
 * what they do where all layers miss something. Chooses nothing.
 */
import type { Model } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';
import { blocksOf, splitBias } from '../adjust/blocks.ts';
import { explained, type Fit, type Sums } from '../adjust/fit.ts';
import { prepareSolver } from '../adjust/solver.ts';
import type { Analysis } from '../analyse.ts';
import { type Contraction, withBias, withWeights } from '../calibrate/contractions.ts';
import { rowWidth } from '../calibrate/patches.ts';
import type { Batch } from '../calibrate/prefix.ts';
import { divergence, type Outputs, outputsOf } from './outputs.ts';
import { type Candidate, lossesOf, scoreContraction } from './scores.ts';

export interface Regime {
  /** For adjust: is told each fit, of squares alone. */
  onFit(contraction: Contraction, fit: Fit): void;
  /** Scores of all candidates around `sparse`, the model that the fits made. */
  scores(sparse: Model): Promise<readonly Candidate[]>;
}

export interface RegimeInput {
  readonly analysis: Analysis;
  readonly backend: Backend;
  readonly ridge: number;
  readonly batches: readonly Batch[];
  /** The dense model's outputs for `batches`. */
  readonly expected: Outputs;
}

interface Seen {
  /** What the contraction would be if every shard read everything. */
  readonly whole: Float64Array;
  /** Share of its outputs' variance that it misses more than that. */
  readonly gap: number;
  /** Relative to the same variance. */
  readonly scores: ReadonlyMap<string, Candidate>;
}

/** Gaps below it say nothing. */
const leastGap = 1e-6;
/** Share of the middle weight that every contraction has: what is measured is one step of many. */
const leastWeight = 0.1;

export function regimeOf({ analysis, backend, ridge, batches, expected }: RegimeInput): Regime {
  const { model, division, sources, weights: dense } = analysis;
  const seen = new Map<Contraction, Seen>();
  return {
    onFit(contraction, { weights, sums }) {
      const width = rowWidth(contraction);
      const { outputChannels } = contraction;
      const old = withBias(model.graph, contraction);
      const everything = Array.from({ length: division.numShards }, () =>
        Array.from({ length: contraction.inputChannels }, (_, channel) => channel),
      );
      const blocks = blocksOf(division, contraction, everything);
      const whole = prepareSolver(sums.gram, width, blocks, ridge)(sums.cross, old, outputChannels);
      const matrix = sums.gram.map((value) => value / sums.rows);
      const graph = withWeights(model.graph, contraction, ...splitBias(whole, width));
      const input = { graph, division, sources, ridge, weight: () => 1 };
      const scores = new Map<string, Candidate>();
      const losses = lossesOf(contraction, { matrix, width }, input);
      scoreContraction(contraction, losses, input, scores);
      seen.set(contraction, { whole, gap: gapOf(sums, whole, weights, width, outputChannels), scores });
    },
    async scores(sparse) {
      const base = divergence(expected, await outputsOf(sparse, batches, backend));
      const gains = new Map<Contraction, number>();
      for (const [contraction, { whole, gap }] of seen) {
        if (gap < leastGap) continue;
        const graph = withWeights(sparse.graph, contraction, ...splitBias(whole, rowWidth(contraction)));
        const reached = divergence(expected, await outputsOf({ ...sparse, graph }, batches, backend));
        gains.set(contraction, (base - reached) / gap);
      }
      const middle = median([...gains.values()].filter((gain) => gain > 0));
      const middleDense = median([...gains.keys()].map((contraction) => dense.get(contraction) ?? 0));
      const scores = new Map<string, Candidate>();
      for (const [contraction, own] of seen) {
        // Nothing is missed there: its weight in the dense model must do.
        const known = ((dense.get(contraction) ?? 0) * middle) / Math.max(middleDense, Number.MIN_VALUE);
        const weight = Math.max(gains.get(contraction) ?? known, leastWeight * middle);
        for (const [key, candidate] of own.scores) {
          const score = (scores.get(key)?.score ?? 0) + weight * candidate.score;
          scores.set(key, { ...candidate, score });
        }
      }
      return [...scores.values()];
    },
  };
}

function gapOf(
  sums: Sums,
  whole: Float64Array,
  restricted: Float64Array,
  width: number,
  outputs: number,
): number {
  const means = sums.sums.reduce((total, sum) => total + sum ** 2 / sums.rows, 0);
  const gap = explained(sums, whole, width, outputs) - explained(sums, restricted, width, outputs);
  return gap / Math.max(explained(sums, whole, width, outputs) - means, Number.MIN_VALUE);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 1;
}
