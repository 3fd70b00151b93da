/** A loaded plan, ready to run: the part of the public API that is shaped like onnxruntime's InferenceSession. */
import type { RunTimeline } from '../protocol/timeline.ts';
import type { PlanSummary, PlanValue, RunStats } from '../workers/api.ts';
import type { Coordinator } from './coordinator/coordinator.ts';
import { type OutputTensor, type TensorLike, toInputs, toOutput } from './tensors.ts';

export interface RunReport extends RunStats {
  /** Devices that held shards. */
  readonly devices: number;
  /** Times the run was started again because a device was lost. */
  readonly restarts: number;
  /** What each device did when, where the run asked for it. */
  readonly timeline?: RunTimeline | undefined;
}

export interface RunOptions {
  /** Calls the run off: it rejects with RUN_ABORTED at once. */
  readonly signal?: AbortSignal | undefined;
  /** Has every device note what it does; the report then has a `timeline`, and the answer comes a little later. */
  readonly timeline?: boolean | undefined;
  /** Told once, before the outputs are given. */
  readonly onReport?: ((report: RunReport) => void) | undefined;
}

export class Session {
  readonly #coordinator: Coordinator;
  readonly plan: PlanSummary;

  constructor(coordinator: Coordinator, plan: PlanSummary) {
    this.#coordinator = coordinator;
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
   * Rejects INPUT_INVALID, RUN_ABORTED, RUN_TIMEOUT, WORKER_DIED, or what stopped the last device.
   */
  async run(
    feeds: Readonly<Record<string, TensorLike>>,
    options: RunOptions = {},
  ): Promise<Record<string, OutputTensor>> {
    const inputs = toInputs(feeds, this.plan.inputs);
    const { signal, timeline: wanted } = options;
    const outcome = await this.#coordinator.run(inputs, { signal, timeline: wanted });
    const { outputs, stats, devices, restarts, timeline } = outcome;
    options.onReport?.({ ...stats, devices, restarts, timeline });
    return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, toOutput(tensor)]));
  }

  /**
   * `own`: from the next run on, this device alone holds every shard, though others are in the room, to measure what
   * they are good for; `all`: again over the room, as from the beginning.
   */
  useDevices(devices: 'own' | 'all'): void {
    this.#coordinator.setAlone(devices === 'own');
  }

  /** Rejects its pending runs with RUN_ABORTED. The device keeps its shards for the others. */
  release(): void {
    this.#coordinator.release('The session was released.');
  }
}
