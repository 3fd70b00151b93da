/**
 * The features that a budget buys, of three selections: by scores in the dense model, by scores in the sparse model that
 * these make, and the same ratio everywhere. Each is fitted and judged on inputs that nothing is fitted to.
 */
import type { Analysis } from './analyse.ts';
import type { Budget } from './select/budget.ts';
import { divergence, type Outputs, outputsOf } from './select/outputs.ts';
import { regimeOf } from './select/regime.ts';
import type { Candidate } from './select/scores.ts';
import { uniformly } from './select/uniform.ts';
import { type SparsifySettings, sparsifyDefaults } from './sparsifySettings.ts';
import { choose, type Sparsified, thin, within } from './thin.ts';

export type SelectionName = 'dense scores' | 'sparse scores' | 'uniform';

export interface Judged {
  readonly name: SelectionName;
  readonly chosen: readonly Candidate[];
  /** The model that was judged. */
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
  if (first.length === 0 || first.length === analysis.candidates.length)
    return [
      {
        name: 'dense scores',
        chosen: first,
        fitted: await thin(analysis, first, settings),
        divergence: Number.NaN,
      },
    ];
  // Fitted as it will be: what a rough fit favours is not always what a good one makes most of.
  const trial = await openTrial(analysis, settings, settings);
  const { judged, rescored } = await bothScores(trial, first, budget);
  const uniform = await trial.judge('uniform', uniformWithin(analysis, budget, wire));
  const all: [Judged, ...Judged[]] = [judged, rescored.judged, uniform];
  return all.sort((a, b) => a.divergence - b.divergence);
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
  const { judged, rescored } = await bothScores(
    await openTrial(analysis, settings, roughly(settings)),
    first,
    budget,
  );
  return rescored.judged.divergence < judged.divergence ? rescored.analysis : analysis;
}

interface Trial {
  readonly analysis: Analysis;
  readonly settings: SparsifySettings;
  readonly expected: Outputs;
  readonly judge: (name: SelectionName, chosen: readonly Candidate[]) => Promise<Judged>;
}

/** Squares alone: a third of the time, and what scores speak of. */
function roughly(settings: SparsifySettings): SparsifySettings {
  return { ...settings, sweeps: 0, scoreSweeps: 0, onProgress: () => {} };
}

/** `judging`: how what is judged is fitted. */
async function openTrial(
  analysis: Analysis,
  settings: SparsifySettings,
  judging: SparsifySettings,
): Promise<Trial> {
  const { backend } = settings;
  const { model, judged: batches } = analysis;
  const expected = await outputsOf(model, batches, backend);
  return {
    analysis,
    settings,
    expected,
    async judge(name, chosen) {
      const fitted = await thin(analysis, chosen, judging);
      const got = await outputsOf(fitted.model, batches, backend);
      return { name, chosen, fitted, divergence: divergence(expected, got) };
    },
  };
}

async function bothScores(trial: Trial, first: readonly Candidate[], budget: Budget) {
  const { analysis, settings, expected, judge } = trial;
  const { ridge } = { ...sparsifyDefaults, ...settings };
  const regime = regimeOf({ analysis, backend: settings.backend, ridge, batches: analysis.judged, expected });
  const { model } = await thin(analysis, first, roughly(settings), regime.onFit);
  const rescored = { ...analysis, candidates: await regime.scores(model) };
  const judged = await judge('dense scores', first);
  const chosen = choose(rescored, budget, settings.wire);
  return { judged, rescored: { analysis: rescored, judged: await judge('sparse scores', chosen) } };
}

/** With the model that was judged: it need not be fitted again. Throws BUDGET_INVALID and CALIBRATION_INVALID. */
export async function chooseBest(
  analysis: Analysis,
  budget: Budget,
  settings: SparsifySettings,
): Promise<Judged> {
  const [best] = await judgedSelections(analysis, budget, settings);
  return best;
}

/** The largest equal ratio that the budget allows. */
export function uniformWithin(
  analysis: Analysis,
  budget: Budget,
  wire: SparsifySettings['wire'],
): readonly Candidate[] {
  const { candidates } = analysis;
  const fits = within(analysis, budget, wire);
  let [low, high] = [0, candidates.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(uniformly(candidates, middle))) low = middle;
    else high = middle - 1;
  }
  return uniformly(candidates, low);
}
