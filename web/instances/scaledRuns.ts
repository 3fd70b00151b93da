/**
 * A page's runs under a latency objective: the scaler over the instances of one plan in one room. It joins scaler,
 * pool and placement to each other; each decides for itself.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { PlanSummary } from '../../workers/api.ts';
import type { Clock } from '../clock.ts';
import type { RunInputs } from '../coordinator/runQueue.ts';
import type { Candidate, Shares } from '../placement.ts';
import type { PlanPlace } from '../planAddresses.ts';
import type { PolicyChoice } from '../scaler/policies.ts';
import type { SubmitOptions } from '../scaler/requestQueue.ts';
import { createScaler } from '../scaler/scaler.ts';
import type { Decision, Scaler, ScalerStats } from '../scaler/scalerApi.ts';
import type { Objective } from '../scaler/setting.ts';
import { DevicesPerInstance } from './devicesPerInstance.ts';
import { DeviceRefusal } from './hostedInstance.ts';
import { lessCapacity, placeInstance, unlimited, usableDevices } from './placeInstance.ts';
import type { RoomInstances } from './roomInstances.ts';
import { type RoomAnswer, RoomPool, type RoomPoolPorts } from './roomPool.ts';

export interface ScalerWishes {
  /** 95 of 100 runs are to be served in so long, from the start of their batch to the answer. */
  readonly slo: Objective;
  /** Runs that may travel together; 32 unless told, 1 where the plan says so. */
  readonly maxBatch?: number | undefined;
  /** Copies of the network that may work at once; 4 unless told. */
  readonly maxInstances?: number | undefined;
  /** Devices over which each copy is divided: 1 is a whole network on one. Chosen by the objective unless told. */
  readonly devicesPerInstance?: number | undefined;
  /** Runs that may wait. */
  readonly queueCapacity?: number | undefined;
  /** How batch and instances are chosen; `joint` unless told. */
  readonly policy?: PolicyChoice | undefined;
}

export interface ScaledRunsOptions {
  readonly self: string;
  readonly clock: Clock;
  readonly plan: PlanSummary;
  readonly url: string;
  readonly place: PlanPlace;
  readonly instances: Pick<RoomInstances, 'open'>;
  /** Numbers of threads that an instance may have, the usual one first. */
  readonly threads: readonly number[];
  readonly wishes: ScalerWishes;
  /** The other devices, as they are now. */
  candidates(): readonly Candidate[];
  readonly runOnRoom: RoomPoolPorts['runOnRoom'];
}

export interface ScaledStats extends ScalerStats {
  /** The devices that hold shards of each instance. */
  readonly placements: readonly (readonly string[])[];
}

export class ScaledRuns {
  readonly #options: ScaledRunsOptions;
  readonly #perInstance: DevicesPerInstance;
  readonly #pool: RoomPool;
  readonly #scaler: Scaler<RunInputs, RoomAnswer>;
  readonly #listeners = new Set<(decision: Decision) => void>();
  readonly #limits: { readonly maxBatch: number; readonly maxInstances: number };
  #capacity = unlimited;
  #full: StarlingError | null = null;
  #devices = '';
  #alone = false;
  #closed: StarlingError | null = null;

  /** Throws USAGE. */
  constructor(options: ScaledRunsOptions) {
    const { plan, clock, wishes, threads } = options;
    const { slo, maxBatch = 32, maxInstances = 4, queueCapacity, policy, devicesPerInstance } = wishes;
    this.#options = options;
    this.#limits = { maxBatch: Math.min(maxBatch, plan.maxBatch), maxInstances };
    this.#perInstance = new DevicesPerInstance(devicesPerInstance ?? null);
    this.#pool = new RoomPool({
      clock,
      runOnRoom: options.runOnRoom,
      place: (others) => this.#place(others),
      refused: (placement, others, error) => this.#refused(placement, others, error),
      open: (shares, count) => this.#open(shares, count),
    });
    this.#noteDevices();
    this.#scaler = createScaler({
      pool: this.#pool,
      clock,
      objective: slo,
      limits: { ...this.#limits, threads },
      ...(policy === undefined ? {} : { policy }),
      ...(queueCapacity === undefined ? {} : { queueCapacity }),
      onDecision: (decision) => this.#onDecision(decision),
    });
  }

  /** Most items of one run. */
  get maxBatch(): number {
    return this.#limits.maxBatch;
  }

  run(inputs: RunInputs, options: SubmitOptions): Promise<RoomAnswer> {
    return this.#scaler.submit(inputs, options);
  }

  setObjective(objective: Objective): void {
    this.#scaler.setObjective(objective);
    const before = this.#perInstance.current;
    this.#perInstance.reset(this.#usable().length);
    if (this.#perInstance.current !== before) this.#pool.placeAnew();
  }

  stats(): ScaledStats {
    return { ...this.#scaler.stats(), placements: this.#pool.placements };
  }

  onDecision(listener: (decision: Decision) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Somebody may have joined, left, or become unreliable. */
  devicesChanged(): void {
    if (this.#closed === null && this.#noteDevices()) this.#pool.placeAnew();
  }

  /** Whether this device holds all instances by itself. */
  setAlone(alone: boolean): void {
    this.#alone = alone;
    this.devicesChanged();
  }

  close(reason: StarlingError): void {
    if (this.#closed !== null) return;
    this.#closed = reason;
    this.#scaler.close(reason);
    this.#pool.close(reason);
  }

  #place(others: readonly Shares[]): Shares {
    const placement = placeInstance(this.#room(), this.#perInstance.current, others, this.#capacity);
    if (placement !== null) return placement;
    if (others.length === 0) this.#divideFurther();
    throw this.#full ?? new StarlingError('MEMORY_LIMIT', 'No device has memory for a further instance.');
  }

  /** A device without memory for its part says how much there is: the next one may live elsewhere. */
  #refused(placement: Shares, others: readonly Shares[], error: unknown): boolean {
    if (!isFull(error)) return false;
    this.#full = error;
    this.#capacity = lessCapacity(this.#capacity, error.device, placement, others);
    return true;
  }

  async #open({ devices, shards }: Shares, threads: number) {
    const { instances, url, place, plan } = this.#options;
    const wish = {
      url,
      plan: { ...place, sha256: plan.sha256 },
      devices: [...devices],
      shards: shards.map((share) => [...share]),
      threads,
    };
    try {
      return await instances.open(wish);
    } catch (thrown) {
      // Without memory on one device it may live on another as it is.
      if (!isFull(thrown) && this.#pool.placements.length === 0) this.#divideFurther();
      throw thrown;
    }
  }

  /** Not even one instance can be made like this. */
  #divideFurther(): void {
    if (this.#closed !== null || !this.#perInstance.refused()) return;
    this.#capacity = unlimited;
    this.#placeAnewLater();
  }

  #onDecision(decision: Decision): void {
    const { report } = decision;
    const isOneRunAlone = report?.setting.batch === 1 && report.setting.instances === 1;
    if (isOneRunAlone && this.#perInstance.measured(report.p95Ms, this.#scaler.stats().objective.p95Ms))
      this.#placeAnewLater();
    for (const listener of [...this.#listeners]) listener(decision);
  }

  /** Not while the scaler decides. */
  #placeAnewLater(): void {
    queueMicrotask(() => this.#pool.placeAnew());
  }

  #noteDevices(): boolean {
    const usable = this.#usable();
    const devices = usable.join();
    if (devices === this.#devices) return false;
    this.#devices = devices;
    this.#capacity = unlimited;
    this.#full = null;
    this.#perInstance.reset(usable.length);
    return true;
  }

  #room() {
    const { self, candidates, plan } = this.#options;
    return { self, candidates: this.#alone ? [] : candidates(), numShards: plan.numShards };
  }

  #usable(): string[] {
    return usableDevices(this.#room()).slice(0, limits.devices);
  }
}

function isFull(thrown: unknown): thrown is DeviceRefusal {
  return thrown instanceof DeviceRefusal && thrown.code === 'MEMORY_LIMIT';
}

/** Why a page without an objective cannot be asked for one. */
export function notScaled(): StarlingError {
  return new StarlingError('USAGE', 'The plan was loaded without an objective; load it with "slo" first.');
}
