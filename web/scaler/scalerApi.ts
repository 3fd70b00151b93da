/** What a page says to a scaler and hears from it; no behaviour but the check of what it is given. */
import { StarlingError } from '../../protocol/errors.ts';
import { limits as named } from '../../protocol/limits.ts';
import type { Clock } from '../clock.ts';
import type { InstancePool } from './instancePool.ts';
import type { LatencyCorrection } from './latencyEstimate.ts';
import type { PolicyChoice } from './policies.ts';
import type { SubmitOptions } from './requestQueue.ts';
import type { Objective, Proposal, ScalerLimits, WindowReport } from './setting.ts';
import type { WindowStats } from './slidingWindow.ts';

export interface ScalerOptions<Run, Answer> {
  readonly pool: InstancePool<Run, Answer>;
  readonly objective: Objective;
  readonly limits: ScalerLimits;
  readonly clock?: Clock;
  /** `joint` unless told. */
  readonly policy?: PolicyChoice;
  /** Runs that may wait; at least two full rounds of all instances. */
  readonly queueCapacity?: number;
  /** Learned part of the latency estimate; what is shipped unless told. */
  readonly correction?: LatencyCorrection;
  /** After every window that led to a decision. */
  onDecision?(decision: Decision): void;
}

export interface Decision extends Proposal {
  /** By the clock, in milliseconds. */
  readonly at: number;
  /** The window it was made from; null for the first, and after a new objective or other devices. */
  readonly report: WindowReport | null;
}

export interface ScalerStats extends WindowStats {
  readonly objective: Objective;
  readonly decision: Decision;
  /** Instances that the pool has now, which may still be on its way to the decision's. */
  readonly instances: number;
  /** Why there are no more, where the room could not hold all that were wanted (MEMORY_LIMIT, ...); else null. */
  readonly refusal: StarlingError | null;
  readonly queuedRuns: number;
  readonly batchesInFlight: number;
  readonly expectedWaitMs: number | null;
  /** Windows with a decision, and those of them whose p95 missed the objective. */
  readonly windows: number;
  readonly missedWindows: number;
}

export interface Scaler<Run, Answer> {
  /**
   * One run. Rejects with OVERLOADED (an `Overloaded`, which tells the expected wait), RUN_TIMEOUT, RUN_ABORTED,
   * INPUT_INVALID, or what the pool says of this run.
   */
  submit(run: Run, options?: SubmitOptions): Promise<Answer>;
  setObjective(objective: Objective): void;
  stats(): ScalerStats;
  /** Ends everything; every run that is not answered rejects with `reason`. */
  close(reason: StarlingError): void;
}

/** Throws USAGE. */
export function checkLimits({ maxBatch, maxInstances, threads }: ScalerLimits): void {
  const sound = (value: number, most: number) => Number.isInteger(value) && value >= 1 && value <= most;
  if (sound(maxBatch, named.batchItems) && sound(maxInstances, named.instances) && threads.length > 0) return;
  throw new StarlingError(
    'USAGE',
    `Expected maxBatch from 1 to ${named.batchItems}, maxInstances from 1 to ${named.instances} and one number of threads, got ${maxBatch}, ${maxInstances} and ${threads.length}.`,
  );
}

/** Throws USAGE. */
export function checkObjective({ p95Ms }: Objective): void {
  if (p95Ms > 0) return;
  throw new StarlingError('USAGE', `Expected an objective of more than 0 ms, got ${p95Ms}.`);
}
