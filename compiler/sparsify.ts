/**
 * A dense division by channels made sparse after training, without labels: calibrate, assign, select, adjust. `analyse`
 * does what all budgets share, `chooseBest` spends one and adjusts to it. Lowers and measures nothing.
 */
import type { Model } from '../graph/graph.ts';
import { analyse } from './analyse.ts';
import { chooseBest } from './chooseBest.ts';
import type { Budget } from './select/budget.ts';
import type { SparsifySettings } from './sparsifySettings.ts';
import type { Sparsified } from './thin.ts';

/** Throws BUDGET_INVALID and CALIBRATION_INVALID. */
export async function sparsify(
  model: Model,
  budget: Budget,
  settings: SparsifySettings,
): Promise<Sparsified> {
  const analysis = await analyse(model, settings);
  return (await chooseBest(analysis, budget, settings)).fitted;
}
