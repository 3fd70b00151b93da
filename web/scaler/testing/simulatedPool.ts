/**
 * Instances without devices: a batch takes as long as a latency curve says for its items and for the batches in flight
 * beside it. Devices may fail, leave, slow down, and refuse more instances.
 */
import type { Clock } from '../../clock.ts';
import type { BatchAnswer, InstancePool, RunShape } from '../instancePool.ts';

/** Mean milliseconds of a batch of so many items with so many batches in flight, itself included. */
export type LatencyCurve = (items: number, inFlight: number, threads: number) => number;

export interface SimulatedRun {
  readonly id: number;
  readonly items: number;
  readonly shape: string;
  /** Fails every batch it is in. */
  readonly isBad?: boolean;
}

export interface Pauses {
  readonly everyMs: number;
  readonly ms: number;
}

export interface SimulatedPoolOptions {
  readonly clock: Clock;
  readonly curve: LatencyCurve;
  /** More cannot be held: `resize` rejects. */
  readonly capacity: number;
  /** Factor on the latency of each batch, around 1. */
  noise?(): number;
  /** The machine stands still for `ms` every `everyMs`: what is under way then takes so much longer. */
  readonly pauses?: Pauses;
  /** To make one instance. */
  readonly resizeMs?: number;
  onServed?(served: { readonly at: number; readonly serviceMs: number; readonly items: number }): void;
}

export class SimulatedPool implements InstancePool<SimulatedRun, number> {
  curve: LatencyCurve;
  capacity: number;
  size = 0;
  /** Items of every batch that was started, with what was in flight then. */
  readonly started: {
    readonly items: number;
    readonly runs: readonly number[];
    readonly inFlight: number;
  }[] = [];
  readonly #options: SimulatedPoolOptions;
  readonly #failures = new Set<(error: Error) => void>();
  readonly #listeners = new Set<(change: { readonly remeasure: boolean }) => void>();
  #threads = 1;
  #inFlight = 0;

  constructor(options: SimulatedPoolOptions) {
    this.#options = options;
    this.curve = options.curve;
    this.capacity = options.capacity;
  }

  shapeOf({ items, shape }: SimulatedRun): RunShape {
    return { items, key: shape };
  }

  async resize(instances: number, threads: number): Promise<void> {
    const possible = Math.min(instances, this.capacity);
    await this.#wait((this.#options.resizeMs ?? 0) * Math.max(0, possible - this.size));
    this.size = Math.min(possible, this.capacity);
    this.#threads = threads;
    if (instances > this.size) throw new Error(`No memory for ${instances} instances.`);
  }

  async run(runs: readonly SimulatedRun[], signal: AbortSignal): Promise<BatchAnswer<number>> {
    const { clock, noise = () => 1, onServed } = this.#options;
    const items = runs.reduce((sum, run) => sum + run.items, 0);
    this.#inFlight++;
    this.started.push({ items, runs: runs.map(({ id }) => id), inFlight: this.#inFlight });
    const undisturbedMs = this.curve(items, this.#inFlight, this.#threads) * noise();
    const serviceMs = undisturbedMs + pausedMs(clock.now(), undisturbedMs, this.#options.pauses);
    try {
      await this.#wait(serviceMs, signal);
      if (runs.some(({ isBad }) => isBad)) throw new Error('One of the inputs is bad.');
    } finally {
      this.#inFlight--;
    }
    onServed?.({ at: clock.now(), serviceMs, items });
    return { outcomes: runs.map(({ id }) => id), computeMs: serviceMs, networkMs: 0 };
  }

  onChange(listener: (change: { readonly remeasure: boolean }) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Everything in flight fails, and only so many instances can be held from now on. */
  lose(capacity: number): void {
    this.capacity = capacity;
    this.size = Math.min(this.size, capacity);
    for (const fail of [...this.#failures]) fail(new Error('A device left.'));
    this.changed(true);
  }

  changed(remeasure: boolean): void {
    for (const listener of [...this.#listeners]) listener({ remeasure });
  }

  #wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (action: () => void) => {
        cancel();
        this.#failures.delete(fail);
        signal?.removeEventListener('abort', abort);
        action();
      };
      const fail = (error: Error) => end(() => reject(error));
      const abort = () => fail(new Error('The batch was called off.'));
      const cancel = this.#options.clock.after(ms, () => end(resolve));
      this.#failures.add(fail);
      signal?.addEventListener('abort', abort);
    });
  }
}

function pausedMs(startedAt: number, forMs: number, pauses: Pauses | undefined): number {
  if (pauses === undefined) return 0;
  const count = Math.floor((startedAt + forMs) / pauses.everyMs) - Math.floor(startedAt / pauses.everyMs);
  return count * pauses.ms;
}
