/** What a sparse division is made with, and the usual values. Does nothing. */
import type { WireChoice } from '../protocol/compileChoices.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import type { Calibration } from './calibrate/calibration.ts';
import { equalCapacities } from './divide/divideChannels.ts';

export type SparsifyStep = 'calibrate' | 'weigh' | 'assign' | 'score' | 'select' | 'adjust';

export interface SparsifySettings {
  readonly numShards: number;
  /** Shares of the shards, such as [3, 1]; equal without it. */
  readonly capacities?: readonly number[];
  readonly calibration: Calibration;
  readonly backend: Backend;
  /** Whether the model takes batches of any size. Default true. */
  readonly openBatch?: boolean;
  /** What features are sent as. Default float32. */
  readonly wire?: WireChoice;
  /** Share of the dense model's multiply-accumulates that no shard executes any more; none are pruned without it. */
  readonly sparsity?: number;
  /** Rows of least squares per contraction. Default 40,000. */
  readonly rows?: number;
  /** Pull towards the old weights, relative to the mean diagonal of the Gram matrix. Default 1e-4. */
  readonly ridge?: number;
  /** Sweeps over the rows in which what a rectifier cuts off is left out of the error. Default 8. */
  readonly sweeps?: number;
  /** Sweeps for the scores of a classifier. Default 100. */
  readonly scoreSweeps?: number;
  /** Random beginnings of the assignment. Default 20. */
  readonly restarts?: number;
  /** Samples on which the outputs' sensitivity to each contraction is measured. Default: at most 128, fewer for large models. */
  readonly sensitivitySamples?: number;
  /**
   * Bytes of activations kept between layers, and of rows: of more samples than they hold an even selection is adjusted to.
   * Default 1 GiB.
   */
  readonly keptBytes?: number;
  readonly seed?: number;
  readonly onProgress?: (step: SparsifyStep, done: number, total: number) => void;
}

export const sparsifyDefaults = {
  rows: 40_000,
  ridge: 1e-4,
  sweeps: 8,
  scoreSweeps: 100,
  restarts: 20,
  keptBytes: 2 ** 30,
  openBatch: true,
  seed: 1,
} as const;

/** Throws BUDGET_INVALID. */
export function capacitiesOf({ numShards, capacities }: SparsifySettings): readonly number[] {
  if (capacities === undefined) return equalCapacities(numShards);
  const valid = capacities.length === numShards && capacities.every((share) => share > 0);
  if (valid) return capacities;
  throw new StarlingError(
    'BUDGET_INVALID',
    `Capacities are expected to be ${numShards} positive numbers, one per shard, got ${capacities.join()}.`,
  );
}
