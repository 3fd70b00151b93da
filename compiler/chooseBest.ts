/**
 * The features that a budget buys, of several selections: by scores in the dense model, by scores in the sparse model that
 * a selection makes, the same ratio everywhere, and half of the budget each way. Each is fitted roughly to a part of the samples
 * and judged on inputs that nothing is fitted to; the best is fitted well, to all of them.
 */
import type { Analysis } from './analyse.ts';
import { project } from './project/project.ts';
import type { Budget } from './select/budget.ts';
import { divergence, type Outputs, outputsOf } from './select/outputs.ts';
import { regimeOf } from './select/regime.ts';
import type { Candidate } from './select/scores.ts';
import { type SparsifySettings, sparsifyDefaults } from './sparsifySettings.ts';
import { choose, type Sparsified, thin } from './thin.ts';
import { trialAnalysis } from './trialAnalysis.ts';
import { partlyUniform, uniformWithin } from './uniformWithin.ts';

export type SelectionName =
  | 'dense scores'
  | 'sparse scores'
  | 'uniform'
  | 'mixed'
  | 'combinations'
  | 'mixed combinations';

export interface Judged {
  readonly name: SelectionName;
  /** What it was chosen of: the given one, or one with combinations of features in its graph. */
  readonly analysis: Analysis;
  readonly chosen: readonly Candidate[];
  /** The model that was judged; in chooseBest's answer the one that is fitted well. */
  readonly fitted: Sparsified;
  /** Of its outputs; NaN where there was no choice. */
  readonly divergence: number;
}

/** The best first. Throws BUDGET_INVALID and CALIBRATION_INVALID. */
export async function judgedSelections(
  analysis: Analysis,
  budget: Budget,
  settings: SparsifySettings,
): Promise<readonly [Judged, ...Judged[]]> {
  const { wire } = settings;
  const first = choose(analysis, budget, wire);
  const name = 'dense scores';
  if (first.length === 0 || first.length === analysis.candidates.length) {
    const fitted = await thin(analysis, first, settings);
    return [{ name, analysis, chosen: first, fitted, divergence: Number.NaN }];
  }
  const trial = await openTrial(analysis, settings);
  const dense = await trial.judge(name, first);
  const uniform = await trial.judge('uniform', uniformWithin(analysis, budget, wire));
  const rescored = await trial.rescored(better(uniform, dense).chosen);
  const sparse = await trial.judge('sparse scores', choose(rescored, budget, wire));
  const scored = better(sparse, dense) === sparse ? rescored : analysis;
  const mixed = await trial.judge('mixed', partlyUniform(scored, budget, wire));
  const all: [Judged, ...Judged[]] = [dense, uniform, sparse, mixed];
  // What prunes weights knows the columns of features only.
  const projecting = settings.sparsity === undefined ? await project(analysis, settings) : undefined;
  if (projecting !== undefined) {
    const combined = async (called: SelectionName, chosen: readonly Candidate[]) => {
      const made = projecting.only(chosen);
      return trial.judge(called, made.chosen, made.analysis);
    };
    const whole = projecting.analysis;
    all.push(await combined('combinations', choose(whole, budget, wire)));
    all.push(await combined('mixed combinations', partlyUniform(whole, budget, wire)));
  }
  return all.sort((a, b) => a.divergence - b.divergence);
}

function better(a: Judged, b: Judged): Judged {
  return b.divergence < a.divergence ? b : a;
}

/**
 * The analysis with scores in the sparse model that one budget makes, where these are the better ones at it: for several
 * budgets that are not judged one by one. Throws BUDGET_INVALID and CALIBRATION_INVALID.
 */
export async function rescoredAt(
  analysis: Analysis,
  budget: Budget,
  settings: SparsifySettings,
): Promise<Analysis> {
  const first = choose(analysis, budget, settings.wire);
  if (first.length === 0 || first.length === analysis.candidates.length) return analysis;
  const trial = await openTrial(analysis, settings);
  const dense = await trial.judge('dense scores', first);
  const rescored = await trial.rescored(first);
  const sparse = await trial.judge('sparse scores', choose(rescored, budget, settings.wire));
  return better(dense, sparse) === sparse ? { ...analysis, candidates: rescored.candidates } : analysis;
}

interface Trial {
  /** Scores in the sparse model that a selection makes. */
  readonly rescored: (chosen: readonly Candidate[]) => Promise<Analysis>;
  readonly judge: (name: SelectionName, chosen: readonly Candidate[], of?: Analysis) => Promise<Judged>;
}

async function openTrial(analysis: Analysis, settings: SparsifySettings): Promise<Trial> {
  const { backend, ridge, keptBytes } = { ...sparsifyDefaults, ...settings };
  const { model, judged: batches } = analysis;
  const expected: Outputs = await outputsOf(model, batches, backend);
  // Squares alone: a fraction of the time, what scores speak of, and it puts selections in the same order.
  const rough = { ...settings, sweeps: 0, scoreSweeps: 0, onProgress: () => {} };
  return {
    async rescored(chosen) {
      const few = trialAnalysis(analysis);
      const regime = regimeOf({ analysis: few, backend, ridge, keptBytes });
      const { model: sparse } = await thin(few, chosen, rough, regime.onFit);
      return { ...analysis, candidates: await regime.scores(sparse) };
    },
    async judge(name, chosen, of = analysis) {
      const fitted = await thin(trialAnalysis(of), chosen, rough);
      const got = await outputsOf(fitted.model, batches, backend);
      return { name, analysis: of, chosen, fitted, divergence: divergence(expected, got) };
    },
  };
}

/** Fitted to all samples. Throws BUDGET_INVALID and CALIBRATION_INVALID. */
export async function chooseBest(
  analysis: Analysis,
  budget: Budget,
  settings: SparsifySettings,
): Promise<Judged> {
  const [best] = await judgedSelections(analysis, budget, settings);
  if (Number.isNaN(best.divergence)) return best;
  return { ...best, fitted: await thin(best.analysis, best.chosen, settings) };
}
