/**
 * The features that a budget buys, of three selections: by scores in the dense model, by scores in the sparse model that
 * these make, and the same ratio everywhere. Each is fitted roughly and judged on inputs that nothing is fitted to.
 */
import type { Analysis } from './analyse.ts';
import type { Budget } from './select/budget.ts';
import { divergence, outputsOf } from './select/outputs.ts';
import { type Regime, regimeOf } from './select/regime.ts';
import type { Candidate } from './select/scores.ts';
import { uniformly } from './select/uniform.ts';
import { type SparsifySettings, sparsifyDefaults } from './sparsifySettings.ts';
import { choose, thin, within } from './thin.ts';

export type SelectionName = 'dense scores' | 'sparse scores' | 'uniform';

export interface Judged {
  readonly name: SelectionName;
  readonly chosen: readonly Candidate[];
  /** Of the outputs, after a rough fit. */
  readonly divergence: number;
}

/** The best first. Throws BUDGET_INVALID and CALIBRATION_INVALID. */
export async function judgedSelections(
  analysis: Analysis,
  budget: Budget,
  settings: SparsifySettings,
): Promise<readonly Judged[]> {
  const { wire, backend } = settings;
  const { ridge } = { ...sparsifyDefaults, ...settings };
  const first = choose(analysis, budget, wire);
  const alone: Judged = { name: 'dense scores', chosen: first, divergence: Number.NaN };
  if (first.length === 0 || first.length === analysis.candidates.length) return [alone];
  const batches = analysis.judged;
  const expected = await outputsOf(analysis.model, batches, backend);
  const rough = { ...settings, sweeps: 0, scoreSweeps: 0, onProgress: () => {} };
  const judged: Judged[] = [];
  const judge = async (name: SelectionName, chosen: readonly Candidate[], onFit?: Regime['onFit']) => {
    const { model } = await thin(analysis, chosen, rough, onFit);
    judged.push({ name, chosen, divergence: divergence(expected, await outputsOf(model, batches, backend)) });
    return model;
  };
  const regime = regimeOf({ analysis, backend, ridge, batches, expected });
  const sparse = await judge('dense scores', first, regime.onFit);
  const rescored = { ...analysis, candidates: await regime.scores(sparse) };
  await judge('sparse scores', choose(rescored, budget, wire));
  await judge('uniform', uniformWithin(analysis, budget, wire));
  return judged.sort((a, b) => a.divergence - b.divergence);
}

/** Throws BUDGET_INVALID and CALIBRATION_INVALID. */
export async function chooseBest(
  analysis: Analysis,
  budget: Budget,
  settings: SparsifySettings,
): Promise<readonly Candidate[]> {
  const [best] = await judgedSelections(analysis, budget, settings);
  return best?.chosen ?? [];
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
