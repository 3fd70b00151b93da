/**
 * Many requests on one room: takes runs into the queue, and starts batches on idle instances at once, of the size and
 * on as many instances as the steering says. No run ever waits for a batch to fill. Knows no room, DOM or Worker: the
 * pool offers the instances, the clock the time.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits as named } from '../../protocol/limits.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { BatchAnswer } from './instancePool.ts';
import { type QueuedRun, RequestQueue, type SubmitOptions } from './requestQueue.ts';
import type { Scaler, ScalerOptions, ScalerStats } from './scalerApi.ts';
import type { Objective } from './setting.ts';
import { SlidingWindow } from './slidingWindow.ts';
import { Steering } from './steering.ts';

interface Batch<Run, Answer> {
  readonly runs: readonly QueuedRun<Run, Answer>[];
  readonly startedAt: number;
  readonly moreWaited: boolean;
  readonly era: number;
  readonly abort: AbortController;
}

/** Throws USAGE for limits or an objective that make no sense. */
export function createScaler<Run, Answer>(options: ScalerOptions<Run, Answer>): Scaler<Run, Answer> {
  return new RoomScaler(options);
}

class RoomScaler<Run, Answer> implements Scaler<Run, Answer> {
  readonly #options: ScalerOptions<Run, Answer>;
  readonly #clock: Clock;
  readonly #queue: RequestQueue<Run, Answer>;
  readonly #steering: Steering;
  readonly #served = new SlidingWindow();
  readonly #inFlight = new Set<Batch<Run, Answer>>();
  #closed: StarlingError | null = null;

  constructor(options: ScalerOptions<Run, Answer>) {
    const { clock = systemClock, limits, queueCapacity } = options;
    this.#options = options;
    this.#clock = clock;
    this.#queue = new RequestQueue({
      capacity: queueCapacity ?? Math.max(named.queuedRuns, 2 * limits.maxBatch * limits.maxInstances),
      clock,
      expectedWaitMs: () => this.#expectedWaitMs(),
      refusal: () => this.#steering.refusal,
      onChange: () => this.#onQueueChange(),
    });
    this.#steering = new Steering({ ...options, clock, onChange: () => this.#startBatches() });
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
    this.#steering.setObjective(objective);
  }

  stats(): ScalerStats {
    const { decision, objective, windows, refusal } = this.#steering;
    return {
      ...this.#served.stats(this.#clock.now()),
      objective,
      decision,
      instances: this.#options.pool.size,
      refusal,
      queuedRuns: this.#queue.length,
      batchesInFlight: this.#inFlight.size,
      expectedWaitMs: this.#expectedWaitMs(),
      windows: windows.decided,
      missedWindows: windows.missed,
    };
  }

  close(reason: StarlingError): void {
    if (this.#closed !== null) return;
    this.#closed = reason;
    this.#steering.close();
    this.#queue.rejectAll(reason);
    for (const { abort } of this.#inFlight) abort.abort(reason);
  }

  #onQueueChange(): void {
    for (const { runs, abort } of this.#inFlight) {
      if (runs.every(({ settled }) => settled)) abort.abort();
    }
    this.#startBatches();
  }

  #startBatches(): void {
    for (;;) {
      const { decision, era } = this.#steering;
      const instances = Math.min(decision.setting.instances, this.#options.pool.size);
      if (this.#closed !== null || this.#inFlight.size >= instances) return;
      const runs = this.#queue.take(decision.setting.batch);
      if (runs.length === 0) return;
      const batch = {
        runs,
        startedAt: this.#clock.now(),
        moreWaited: this.#queue.length > 0,
        era,
        abort: new AbortController(),
      };
      this.#inFlight.add(batch);
      void this.#serve(batch);
    }
  }

  async #serve(batch: Batch<Run, Answer>): Promise<void> {
    const answer = await this.#run(batch);
    this.#inFlight.delete(batch);
    try {
      if (answer instanceof StarlingError) this.#settleFailed(batch, answer);
      else this.#settle(batch, answer);
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

  #settle(batch: Batch<Run, Answer>, { outcomes, computeMs, networkMs }: BatchAnswer<Answer>): void {
    const { runs, startedAt, moreWaited, era } = batch;
    const at = this.#clock.now();
    const serviceMs = at - startedAt;
    const counts = this.#steering.counts(era) && serviceMs >= 0;
    for (const { shape, queuedAt } of runs) {
      const waitMs = Math.max(0, startedAt - queuedAt);
      this.#served.add({ at, items: shape.items, waitMs, serviceMs, computeMs, networkMs, counts });
    }
    runs.forEach((run, i) => {
      const outcome = outcomes[i] ?? new Error('The batch came back without an answer to this run.');
      run.settle(outcome instanceof Error ? StarlingError.from(outcome, 'RUN_FAILED') : outcome);
    });
    const items = runs.reduce((sum, { shape }) => sum + shape.items, 0);
    this.#steering.add({ items, runs: runs.length, serviceMs, moreWaited }, era);
  }

  /** One bad input fails its whole batch: each of its runs gets a second try by itself, and then its own error. */
  #settleFailed({ runs }: Batch<Run, Answer>, error: StarlingError): void {
    if (runs.length > 1 && this.#closed === null) this.#queue.putBack(runs);
    else for (const run of runs) run.settle(error);
  }

  #expectedWaitMs(): number | null {
    const throughput = this.#served.throughput(this.#clock.now());
    return throughput > 0 ? (1000 * this.#queue.items) / throughput : null;
  }
}
