/**
 * Scores features in a model that is already sparse, on its own inputs: what a contraction still misses after all before it
 * were adjusted, and how much the outputs gain where it alone is given everything. Errors of a dense model say little of
 * what they do where all layers miss something. Chooses nothing.
 */
import type { Model } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';
import { splitBias, wholeBlock } from '../adjust/blocks.ts';
import { explained, type Fit, type Sums } from '../adjust/fit.ts';
import { prepareSolver } from '../adjust/solver.ts';
import type { Analysis } from '../analyse.ts';
import { batchSize } from '../calibrate/calibration.ts';
import { type Contraction, withBias, withWeights } from '../calibrate/contractions.ts';
import { heldSamples } from '../calibrate/heldSamples.ts';
import { rowWidth } from '../calibrate/patches.ts';
import { changedOutputs } from './changedOutputs.ts';
import { divergence, outputsOf } from './outputs.ts';
import { regimeSamples } from './sampleCounts.ts';
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
  /** Bytes of values that may be held meanwhile. */
  readonly keptBytes: number;
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

export function regimeOf({ analysis, backend, ridge, keptBytes }: RegimeInput): Regime {
  const { model, division, contractions, sources, judged, weights: dense } = analysis;
  const seen = new Map<Contraction, Seen>();
  return {
    onFit(contraction, { weights, sums }) {
      const width = rowWidth(contraction);
      const { outputChannels } = contraction;
      const old = withBias(model.graph, contraction);
      const blocks = [wholeBlock(contraction)];
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
      const calibration = await heldSamples(
        { samples: judged.reduce((sum, batch) => sum + batchSize(batch), 0), batches: () => judged },
        regimeSamples(model.graph, contractions.length),
      );
      const outputs = (of: Model) => outputsOf(of, calibration.batches(), backend);
      const expected = await outputs(model);
      const base = divergence(expected, await outputs(sparse));
      const gains = new Map<Contraction, number>();
      const missing = [...seen].filter(([, { gap }]) => gap >= leastGap);
      const changes = new Map(missing.map(([contraction, { whole }]) => [contraction, whole]));
      const input = { model: sparse, changes, calibration, backend, keptBytes };
      for await (const [contraction, changed] of changedOutputs(input)) {
        const gap = seen.get(contraction)?.gap ?? 1;
        gains.set(contraction, (base - divergence(expected, changed)) / gap);
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
  const reached = explained(sums, whole, width, outputs);
  const gap = reached - explained(sums, restricted, width, outputs);
  return gap / Math.max(reached - means, Number.MIN_VALUE);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 1;
}
