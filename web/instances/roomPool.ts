/**
 * The scaler's instances in a room: makes and parks them, gives each batch to an idle one, and to another where its own
 * is lost. While there is none, batches run on the room's own placement. How many there are to be is the scaler's.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { Clock } from '../clock.ts';
import type { RunInputs, RunOutcome } from '../coordinator/runQueue.ts';
import type { Shares } from '../placement.ts';
import type { BatchAnswer, InstancePool, RunShape } from '../scaler/instancePool.ts';
import { joinRuns, shapeOfInputs, splitOutputs } from '../scaler/joinRuns.ts';
import type { Instance, InstanceResult } from './hostedInstance.ts';
import { InstanceSet } from './instanceSet.ts';
import { holders } from './placeInstance.ts';

export interface RoomPoolPorts {
  readonly clock: Clock;
  /** Where the next instance is to live, beside those that there are. Throws MEMORY_LIMIT. */
  place(others: readonly Shares[]): Shares;
  /** One could not be made beside the others. Whether another place is to be tried. */
  refused(placement: Shares, others: readonly Shares[], error: unknown): boolean;
  open(placement: Shares, threads: number): Promise<Instance>;
  /** One batch on the room's own placement; one at a time. */
  runOnRoom(inputs: RunInputs, signal: AbortSignal): Promise<RunOutcome>;
}

/** One run's answer, with the batch that it travelled in. */
export interface RoomAnswer extends RunOutcome {
  readonly batch: {
    readonly items: number;
    /** From the start of the batch to its answer, other devices included that were tried in vain. */
    readonly serviceMs: number;
  };
}

type Change = { readonly remeasure: boolean };

export class RoomPool implements InstancePool<RunInputs, RoomAnswer> {
  readonly #ports: RoomPoolPorts;
  readonly #set: InstanceSet;
  readonly #listeners = new Set<(change: Change) => void>();
  /** Batches that wait for an instance in place of the one they lost. */
  #waiting: (() => void)[] = [];
  #roomBusy = false;
  #closed: StarlingError | null = null;

  constructor(ports: RoomPoolPorts) {
    this.#ports = ports;
    this.#set = new InstanceSet({
      ...ports,
      onLost: () => this.#tell({ remeasure: true }),
      onIdle: () => this.#wake(),
    });
  }

  /** With no instance, the room's own placement counts as one. */
  get size(): number {
    return Math.max(1, this.#set.size);
  }

  /** For the panel: the devices that hold shards of each instance. */
  get placements(): readonly (readonly string[])[] {
    return this.#set.placements.map(holders);
  }

  shapeOf(run: RunInputs): RunShape {
    return shapeOfInputs(run);
  }

  async resize(instances: number, threads: number): Promise<void> {
    if (this.#closed !== null) throw this.#closed;
    await this.#set.resize(instances, threads);
  }

  /** Devices joined or left, or instances are to live elsewhere: they are made anew, the old ones run until then. */
  placeAnew(): void {
    if (this.#closed !== null) return;
    this.#set.dropParked();
    this.#tell({ remeasure: true });
  }

  async run(runs: readonly RunInputs[], signal: AbortSignal): Promise<BatchAnswer<RoomAnswer>> {
    const items = runs.map((run) => shapeOfInputs(run).items);
    const startedAt = this.#ports.clock.now();
    const joined = joinRuns(runs);
    for (let restarts = 0; ; restarts++) {
      const ran = await this.#tryOnce(joined, signal, restarts);
      if (ran === null) continue;
      const { result, devices } = ran;
      const { outputs, ...rest } = result;
      const batch = {
        items: items.reduce((sum, count) => sum + count, 0),
        serviceMs: this.#ports.clock.now() - startedAt,
      };
      const outcomes = splitOutputs(outputs, items).map((own) => ({
        ...rest,
        outputs: own,
        restarts,
        devices,
        batch,
      }));
      const { computeMs, waitMs } = result.stats;
      return { outcomes, computeMs, networkMs: waitMs };
    }
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(reason: StarlingError): void {
    this.#closed = reason;
    this.#set.close();
    this.#wake();
  }

  /** Null where the instance was lost, so that the batch has to be tried again. */
  async #tryOnce(
    inputs: RunInputs,
    signal: AbortSignal,
    restarts: number,
  ): Promise<{ readonly result: InstanceResult; readonly devices: number } | null> {
    const instance = await this.#idle(signal);
    if (instance === 'room') return this.#runOnRoom(inputs, signal);
    try {
      const result = await instance.run(inputs, signal);
      return { result, devices: holders(instance.placement).length };
    } catch (thrown) {
      const isOver = signal.aborted || instance.lost === null || restarts >= limits.batchRetries;
      if (isOver) throw thrown;
      return null;
    } finally {
      this.#set.giveBack(instance);
    }
  }

  async #idle(signal: AbortSignal): Promise<Instance | 'room'> {
    for (;;) {
      if (this.#closed !== null) throw this.#closed;
      if (signal.aborted) throw new StarlingError('RUN_ABORTED', 'The batch was called off.');
      const instance = this.#set.take();
      if (instance !== null) return instance;
      if (this.#set.size === 0 && !this.#roomBusy) return 'room';
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  async #runOnRoom(inputs: RunInputs, signal: AbortSignal) {
    this.#roomBusy = true;
    try {
      const result = await this.#ports.runOnRoom(inputs, signal);
      return { result, devices: result.devices };
    } finally {
      this.#roomBusy = false;
      this.#wake();
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }

  #tell(change: Change): void {
    this.#wake();
    for (const listener of [...this.#listeners]) listener(change);
  }
}
