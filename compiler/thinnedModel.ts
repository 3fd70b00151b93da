/** A normalised model with a thinned exchange, by one budget, and what its plan will report of it. Lowers nothing. */
import type { Model } from '../graph/graph.ts';
import type { DivisionAxis, WireChoice } from '../protocol/compileChoices.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import { type Analysis, analyse } from './analyse.ts';
import type { Calibration } from './calibrate/calibration.ts';
import { splitCalibration } from './calibrate/splitCalibration.ts';
import { chooseBest } from './chooseBest.ts';
import type { SparseReportInput } from './measure/sparseReport.ts';
import { sentTogether } from './order/sentTogether.ts';
import type { Budget } from './select/budget.ts';
import type { SparsifyStep } from './sparsifySettings.ts';
import type { Sparsified } from './thin.ts';

export interface SparseOptions {
  readonly calibration: Calibration;
  readonly budget: Budget;
  /** Shares of the shards, such as [3, 1]; equal without it. */
  readonly capacities?: readonly number[];
  /** Share of the multiply-accumulates that are pruned; see SparsifySettings. */
  readonly sparsity?: number;
  /** What all budgets share: given where a plan of another budget was made of the same model and settings. */
  readonly analysis?: Analysis;
  /** Is told it. */
  readonly onAnalysis?: (analysis: Analysis) => void;
  readonly onProgress?: (step: SparsifyStep, done: number, total: number) => void;
}

/** Samples at most that a plan's report is measured on. */
const heldOutSamples = 256;

export interface ThinSettings {
  readonly axis: DivisionAxis;
  readonly backend: Backend;
  readonly wire?: WireChoice;
  readonly numShards: number;
  readonly openBatch: boolean;
}

export interface ThinnedModel extends Pick<Sparsified, 'model' | 'division'> {
  readonly reason: string;
  readonly thinned: Pick<
    SparseReportInput,
    'dense' | 'sentFeatures' | 'denseFeatures' | 'keptBytes' | 'heldOut'
  >;
}

/** Throws BUDGET_INVALID and CALIBRATION_INVALID. */
export async function thinnedModel(
  model: Model,
  sparse: SparseOptions,
  { axis, backend, wire, numShards, openBatch }: ThinSettings,
): Promise<ThinnedModel> {
  if (axis !== 'channels') {
    throw new StarlingError(
      'BUDGET_INVALID',
      `Only an exchange of channels can be thinned, got --axis ${axis}; use --axis channels.`,
    );
  }
  const { budget, capacities, sparsity, onProgress } = sparse;
  const { fitted, ...heldOut } = await splitCalibration(sparse.calibration, heldOutSamples);
  const settings = {
    numShards,
    calibration: fitted,
    backend,
    openBatch,
    ...(capacities === undefined ? {} : { capacities }),
    ...(sparsity === undefined ? {} : { sparsity }),
    ...(wire === undefined ? {} : { wire }),
    ...(onProgress === undefined ? {} : { onProgress }),
  };
  const analysis = sparse.analysis ?? (await analyse(model, settings));
  sparse.onAnalysis?.(analysis);
  const best = (await chooseBest(analysis, budget, settings)).fitted;
  const { model: adjusted, division } = sentTogether(best, openBatch);
  const { sentFeatures, denseFeatures, sentBytes, denseBytes, rounds } = best.report;
  const keptBytes = denseBytes === 0 ? 1 : sentBytes / denseBytes;
  return {
    model: adjusted,
    division,
    reason: `${sentFeatures} of ${denseFeatures} features are sent, in ${rounds} rounds.`,
    thinned: { dense: analysis.division, sentFeatures, denseFeatures, keptBytes, heldOut },
  };
}
