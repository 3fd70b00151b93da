/**
 * Many requests on one room: takes runs into the queue, starts batches on idle instances at once, and turns batch size
 * and instances as the policy says after each window. No run ever waits for a batch to fill. Knows no room, DOM or
 * Worker: the pool offers the instances, the clock the time.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits as named } from '../../protocol/limits.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { BatchAnswer, InstancePool } from './instancePool.ts';
import { latencyCorrection } from './latencyCorrection.ts';
import type { LatencyCorrection } from './latencyEstimate.ts';
import { Measurements } from './measurements.ts';
import { MeasuringWindow } from './measuringWindow.ts';
import { createPolicy, type PolicyChoice } from './policies.ts';
import { type QueuedRun, RequestQueue, type SubmitOptions } from './requestQueue.ts';
import type { Objective, Policy, Proposal, ScalerLimits, Setting, WindowReport } from './setting.ts';
import { sameSetting } from './setting.ts';
import { SlidingWindow, type WindowStats } from './slidingWindow.ts';

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

interface Batch<Run, Answer> {
  readonly runs: readonly QueuedRun<Run, Answer>[];
  readonly startedAt: number;
  readonly moreWaited: boolean;
  /** Which change of setting it was started after. */
  readonly era: number;
  readonly abort: AbortController;
}

export function createScaler<Run, Answer>(options: ScalerOptions<Run, Answer>): Scaler<Run, Answer> {
  return new RoomScaler(options);
}

class RoomScaler<Run, Answer> implements Scaler<Run, Answer> {
  readonly #options: ScalerOptions<Run, Answer>;
  readonly #clock: Clock;
  readonly #queue: RequestQueue<Run, Answer>;
  readonly #served = new SlidingWindow();
  readonly #inFlight = new Set<Batch<Run, Answer>>();
  readonly #context: {
    limits: ScalerLimits;
    objective: Objective;
    measurements: Measurements;
    correction: LatencyCorrection;
    current: Setting;
  };
  readonly #endListening: () => void;
  #policy: Policy;
  #decision: Decision;
  #window: MeasuringWindow;
  #era = 0;
  #resizing = false;
  /** What the pool was last brought to. */
  #fitted: Pick<Setting, 'instances' | 'threads'> | null = null;
  #windows = 0;
  #missedWindows = 0;
  #closed: StarlingError | null = null;

  constructor(options: ScalerOptions<Run, Answer>) {
    const { pool, limits, objective, clock = systemClock, correction = latencyCorrection } = options;
    checkLimits(limits);
    checkObjective(objective);
    this.#options = options;
    this.#clock = clock;
    this.#queue = new RequestQueue({
      capacity:
        options.queueCapacity ?? Math.max(named.queuedRuns, 2 * limits.maxBatch * limits.maxInstances),
      clock,
      expectedWaitMs: () => this.#expectedWaitMs(),
      onChange: () => this.#onQueueChange(),
    });
    const current = { batch: 1, instances: 1, threads: limits.threads[0] ?? 1 };
    this.#context = { limits, objective, measurements: new Measurements(), correction, current };
    this.#policy = createPolicy(options.policy ?? 'joint', this.#context);
    this.#decision = { ...this.#policy.next().value, at: clock.now(), report: null };
    this.#context.current = this.#decision.setting;
    this.#window = this.#newWindow(true);
    this.#endListening = pool.onChange((change) => this.#onPoolChange(change));
    this.#fitPool();
  }

  submit(run: Run, options: SubmitOptions = {}): Promise<Answer> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    try {
      const shape = this.#options.pool.shapeOf(run);
      const { maxBatch } = this.#options.limits;
      if (shape.items > maxBatch) {
        throw new StarlingError(
          'INPUT_INVALID',
          `Expected at most ${maxBatch} items in one run, got ${shape.items}; divide it into several runs.`,
        );
      }
      return this.#queue.add(run, shape, options);
    } catch (thrown) {
      return Promise.reject(StarlingError.from(thrown, 'INPUT_INVALID'));
    }
  }

  setObjective(objective: Objective): void {
    checkObjective(objective);
    this.#context.objective = objective;
    this.#restart();
  }

  stats(): ScalerStats {
    return {
      ...this.#served.stats(this.#clock.now()),
      objective: this.#context.objective,
      decision: this.#decision,
      instances: this.#options.pool.size,
      queuedRuns: this.#queue.length,
      batchesInFlight: this.#inFlight.size,
      expectedWaitMs: this.#expectedWaitMs(),
      windows: this.#windows,
      missedWindows: this.#missedWindows,
    };
  }

  close(reason: StarlingError): void {
    if (this.#closed !== null) return;
    this.#closed = reason;
    this.#endListening();
    this.#queue.rejectAll(reason);
    for (const { abort } of this.#inFlight) abort.abort(reason);
  }

  // --- batches -----------------------------------------------------------------------------------------

  #onQueueChange(): void {
    for (const { runs, abort } of this.#inFlight) {
      if (runs.every(({ settled }) => settled)) abort.abort();
    }
    this.#startBatches();
  }

  #startBatches(): void {
    const { setting } = this.#decision;
    while (
      this.#closed === null &&
      this.#inFlight.size < Math.min(setting.instances, this.#options.pool.size)
    ) {
      const runs = this.#queue.take(setting.batch);
      if (runs.length === 0) return;
      const batch = {
        runs,
        startedAt: this.#clock.now(),
        moreWaited: this.#queue.length > 0,
        era: this.#era,
        abort: new AbortController(),
      };
      this.#inFlight.add(batch);
      void this.#serve(batch);
    }
  }

  async #serve(batch: Batch<Run, Answer>): Promise<void> {
    const answer = await this.#run(batch);
    this.#inFlight.delete(batch);
    const window = batch.era === this.#era ? this.#window : null;
    try {
      if (answer instanceof StarlingError) {
        this.#settleFailed(batch, answer);
        return;
      }
      this.#note(batch, answer, window?.counts ?? false);
      batch.runs.forEach((run, i) => {
        const outcome = answer.outcomes[i] ?? new Error('The batch came back without an answer to this run.');
        run.settle(outcome instanceof Error ? StarlingError.from(outcome, 'RUN_FAILED') : outcome);
      });
      if (window !== null) this.#measure(batch, window);
    } finally {
      this.#startBatches();
    }
  }

  /** Never rejects. */
  async #run({ runs, abort }: Batch<Run, Answer>): Promise<BatchAnswer<Answer> | StarlingError> {
    try {
      return await this.#options.pool.run(
        runs.map(({ run }) => run),
        abort.signal,
      );
    } catch (thrown) {
      return StarlingError.from(thrown, 'RUN_FAILED');
    }
  }

  /** One bad input fails its whole batch: each of its runs gets a second try by itself, and then its own error. */
  #settleFailed({ runs }: Batch<Run, Answer>, error: StarlingError): void {
    if (runs.length > 1 && this.#closed === null) this.#queue.putBack(runs);
    else for (const run of runs) run.settle(error);
  }

  #note(batch: Batch<Run, Answer>, answer: BatchAnswer<Answer>, counts: boolean): void {
    const at = this.#clock.now();
    const { computeMs, networkMs } = answer;
    for (const { shape, queuedAt } of batch.runs) {
      const waitMs = Math.max(0, batch.startedAt - queuedAt);
      const serviceMs = Math.max(0, at - batch.startedAt);
      this.#served.add({ at, items: shape.items, waitMs, serviceMs, computeMs, networkMs, counts });
    }
  }

  // --- windows and decisions ---------------------------------------------------------------------------

  #measure(batch: Batch<Run, Answer>, window: MeasuringWindow): void {
    const now = this.#clock.now();
    const serviceMs = now - batch.startedAt;
    if (!(serviceMs >= 0)) {
      // The clock was set back: nothing that spans this moment can be measured.
      this.#era++;
      this.#window = this.#newWindow(true);
      return;
    }
    const items = batch.runs.reduce((sum, { shape }) => sum + shape.items, 0);
    const served = { items, runs: batch.runs.length, serviceMs, moreWaited: batch.moreWaited };
    const { p95Ms } = this.#context.objective;
    const report = window.add(served, p95Ms, now);
    if (report === null) return;
    this.#windows++;
    if (report.p95Ms > p95Ms) this.#missedWindows++;
    this.#decide(this.#policy.next(report).value, report);
  }

  #decide(proposal: Proposal, report: WindowReport | null): void {
    const isSame = sameSetting(proposal.setting, this.#decision.setting) && report !== null;
    this.#decision = { ...proposal, at: this.#clock.now(), report };
    this.#context.current = proposal.setting;
    if (!isSame) this.#era++;
    this.#window = this.#newWindow(!isSame);
    this.#options.onDecision?.(this.#decision);
    this.#fitPool();
    this.#startBatches();
  }

  #newWindow(warmsUp: boolean): MeasuringWindow {
    const { setting } = this.#decision;
    const instances = Math.min(setting.instances, Math.max(1, this.#options.pool.size));
    return new MeasuringWindow(this.#decision, warmsUp ? instances : 0, this.#clock.now());
  }

  /** The policy starts again from what runs now and from what is known. */
  #restart(): void {
    this.#policy = createPolicy(this.#options.policy ?? 'joint', this.#context);
    this.#decide(this.#policy.next().value, null);
  }

  // --- the pool ----------------------------------------------------------------------------------------

  #onPoolChange({ remeasure }: { readonly remeasure: boolean }): void {
    if (this.#closed !== null) return;
    if (remeasure) {
      this.#context.limits = this.#options.limits;
      this.#context.measurements.clear();
      this.#fitted = null;
      this.#restart();
      return;
    }
    this.#fitted = null;
    this.#era++;
    this.#window = this.#newWindow(true);
    this.#fitPool();
    this.#startBatches();
  }

  /** Brings the pool to the decision's instances, one change at a time. */
  #fitPool(): void {
    const { pool } = this.#options;
    const { instances, threads } = this.#decision.setting;
    const isFitted = this.#fitted?.instances === instances && this.#fitted.threads === threads;
    if (isFitted || this.#resizing || this.#closed !== null) return;
    this.#resizing = true;
    Promise.resolve()
      .then(() => pool.resize(instances, threads))
      .then(
        () => this.#onResized(true, instances, threads),
        () => this.#onResized(false, instances, threads),
      );
  }

  #onResized(succeeded: boolean, instances: number, threads: number): void {
    this.#resizing = false;
    if (this.#closed !== null) return;
    const wanted = this.#decision.setting;
    const isCurrent = wanted.instances === instances && wanted.threads === threads;
    this.#fitted = { instances, threads };
    if (!isCurrent) this.#fitPool();
    else if (!succeeded) this.#lowerLimit(instances);
    else {
      // Until here fewer instances ran than were to be measured.
      this.#era++;
      this.#window = this.#newWindow(true);
    }
    this.#startBatches();
  }

  /** The room cannot hold so many: from now on that is the limit, until devices change. */
  #lowerLimit(refused: number): void {
    const most = Math.max(1, Math.min(this.#options.pool.size, refused - 1));
    if (most >= this.#context.limits.maxInstances) return;
    this.#context.limits = { ...this.#context.limits, maxInstances: most };
    this.#restart();
  }

  #expectedWaitMs(): number | null {
    const throughput = this.#served.throughput(this.#clock.now());
    return throughput > 0 ? (1000 * this.#queue.items) / throughput : null;
  }
}

function checkLimits({ maxBatch, maxInstances, threads }: ScalerLimits): void {
  const sound = (value: number, most: number) => Number.isInteger(value) && value >= 1 && value <= most;
  if (sound(maxBatch, named.batchItems) && sound(maxInstances, named.instances) && threads.length > 0) return;
  throw new StarlingError(
    'USAGE',
    `Expected maxBatch from 1 to ${named.batchItems}, maxInstances from 1 to ${named.instances} and one number of threads, got ${maxBatch}, ${maxInstances} and ${threads.length}.`,
  );
}

function checkObjective({ p95Ms }: Objective): void {
  if (p95Ms > 0) return;
  throw new StarlingError('USAGE', `Expected an objective of more than 0 ms, got ${p95Ms}.`);
}
