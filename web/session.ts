/** A loaded plan, ready to run: the part of the public API that is shaped like onnxruntime's InferenceSession. */
import { StarlingError } from '../protocol/errors.ts';
import type { RunTimeline } from '../protocol/timeline.ts';
import type { PlanSummary, PlanValue, RunStats } from '../workers/api.ts';
import type { Coordinator } from './coordinator/coordinator.ts';
import type { DeviceChoice } from './coordinator/placer.ts';
import type { RunInputs, RunOutcome } from './coordinator/runQueue.ts';
import type { RoomAnswer } from './instances/roomPool.ts';
import { notScaled, type ScaledRuns, type ScaledStats } from './instances/scaledRuns.ts';
import type { Decision } from './scaler/scalerApi.ts';
import type { Objective } from './scaler/setting.ts';
import { type OutputTensor, type TensorLike, toInputs, toOutput } from './tensors.ts';

export interface RunReport extends RunStats {
  /** Devices that held shards. */
  readonly devices: number;
  /** Times the run was started again because a device was lost. */
  readonly restarts: number;
  /** Of a plan loaded with an objective: the batch that the run was part of. */
  readonly batch?: RoomAnswer['batch'] | undefined;
  /** What each device did when, where the run asked for it. */
  readonly timeline?: RunTimeline | undefined;
}

export interface RunOptions {
  /** Calls the run off: it rejects with RUN_ABORTED at once. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Has every device note what it does; the report then has a `timeline`, and the answer comes a little later. Not of a
   * plan loaded with an objective, whose runs travel in batches.
   */
  readonly timeline?: boolean | undefined;
  /**
   * Of a plan loaded with an objective: RUN_TIMEOUT where there is no answer after so many milliseconds, in the queue
   * or under way.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * Of a plan loaded with an objective: who asks, a camera or a user. Callers take turns, and each gets its answers in
   * the order in which it asked.
   */
  readonly caller?: string | undefined;
  /** Told once, before the outputs are given. */
  readonly onReport?: ((report: RunReport) => void) | undefined;
}

export class Session {
  readonly #coordinator: Coordinator;
  readonly #scaled: ScaledRuns | null;
  readonly plan: PlanSummary;

  /** @internal Use room.load. `scaled` serves the runs where the plan was loaded with an objective. */
  constructor(coordinator: Coordinator, plan: PlanSummary, scaled: ScaledRuns | null = null) {
    this.#coordinator = coordinator;
    this.#scaled = scaled;
    this.plan = plan;
  }

  get inputs(): readonly PlanValue[] {
    return this.plan.inputs;
  }

  get outputs(): readonly PlanValue[] {
    return this.plan.outputs;
  }

  /**
   * One inference over the devices of the room. Calls queue; a device that is lost meanwhile makes it slower only.
   * Rejects INPUT_INVALID, RUN_ABORTED, RUN_TIMEOUT, WORKER_DIED, or what stopped the last device; with an objective
   * also OVERLOADED, an `Overloaded`, where too many wait.
   */
  async run(
    feeds: Readonly<Record<string, TensorLike>>,
    options: RunOptions = {},
  ): Promise<Record<string, OutputTensor>> {
    const inputs = toInputs(feeds, this.plan.inputs, this.#scaled?.maxBatch);
    const outcome = await this.#runInputs(inputs, options);
    const { outputs, stats, devices, restarts, timeline } = outcome;
    const batch = 'batch' in outcome ? outcome.batch : undefined;
    options.onReport?.({ ...stats, devices, restarts, timeline, batch });
    return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, toOutput(tensor)]));
  }

  /** From now on runs are to be served in this time. Throws USAGE where the plan was loaded without an objective. */
  setObjective(objective: Objective): void {
    if (this.#scaled === null) throw notScaled();
    this.#scaled.setObjective(objective);
  }

  /** How the last seconds went and what the scaler does about it; null where the plan was loaded without an objective. */
  scalerStats(): ScaledStats | null {
    return this.#scaled?.stats() ?? null;
  }

  /** Tells every decision of the scaler; returns what ends that. Throws USAGE without an objective. */
  onDecision(listener: (decision: Decision) => void): () => void {
    if (this.#scaled === null) throw notScaled();
    return this.#scaled.onDecision(listener);
  }

  /**
   * From the next run on. `best`: those that together are fastest, as measured; `all`: every device an equal share,
   * whatever that costs; `own`: this device alone. Without a word as in the beginning, what the room was joined with.
   */
  useDevices(devices?: DeviceChoice): void {
    this.#coordinator.useDevices(devices);
    this.#scaled?.setAlone(devices === 'own');
  }

  /** Rejects its pending runs with RUN_ABORTED. The device keeps its shards for the others. */
  release(): void {
    this.#coordinator.release('The session was released.');
    this.#scaled?.close(new StarlingError('RUN_ABORTED', 'The session was released.'));
  }

  #runInputs(
    inputs: RunInputs,
    { signal, timeline, deadlineMs, caller }: RunOptions,
  ): Promise<RunOutcome | RoomAnswer> {
    if (this.#scaled === null) return this.#coordinator.run(inputs, { signal, timeline });
    return this.#scaled.run(inputs, {
      ...(signal === undefined ? {} : { signal }),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
      ...(caller === undefined ? {} : { caller }),
    });
  }
}
