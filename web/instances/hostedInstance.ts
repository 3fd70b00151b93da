/** An instance as its host has it: its own part, what the other devices say of theirs, and the runs on it. */
import { StarlingError } from '../../protocol/errors.ts';
import type { InstanceMessage, OpenInstance } from '../../protocol/instanceMessages.ts';
import { limits } from '../../protocol/limits.ts';
import type { ErrorMessage } from '../../protocol/roomMessages.ts';
import type { RunResult } from '../../workers/api.ts';
import type { Clock } from '../clock.ts';
import type { RunInputs } from '../coordinator/runQueue.ts';
import type { Shares } from '../placement.ts';
import { ComputeShare } from './computeShare.ts';
import type { InstanceMember } from './instanceMember.ts';
import { holders } from './placeInstance.ts';

/** `computeMs` of the stats is the time of the device that computed longest, `waitMs` the rest. */
export type InstanceResult = Omit<RunResult, 'timeline'>;

/** One copy of a plan's stages, on one device or several, ready to run. */
export interface Instance {
  readonly placement: Shares;
  readonly threads: number;
  /** Why nothing can be run on it any more; null while something can. */
  readonly lost: StarlingError | null;
  /**
   * One batch, the only one at its time. Rejects INPUT_INVALID, RUN_FAILED or RUN_TIMEOUT, RUN_ABORTED after `signal`,
   * or, where the instance itself is lost, whatever ended it.
   */
  run(inputs: RunInputs, signal: AbortSignal): Promise<InstanceResult>;
  /** Called once, when it is lost. */
  onLost(listener: () => void): void;
  close(): void;
}

export interface HostedInstanceOptions {
  readonly self: string;
  readonly clock: Clock;
  readonly instance: OpenInstance;
  startMember(onDeath: (error: StarlingError) => void): InstanceMember;
  /** To its other devices. */
  tell(message: InstanceMessage): void;
  /** Ready or not, it is no more. */
  onEnd(): void;
}

/** What a device of an instance could not do. */
export class DeviceRefusal extends StarlingError {
  readonly device: string;

  constructor(device: string, { code, message }: Pick<StarlingError, 'code' | 'message'>) {
    super(code, message);
    this.device = device;
  }
}

/** What tells of the instance and not of the run. */
const endings: readonly string[] = ['PEER_LOST', 'NO_DEVICE', 'WORKER_DIED', 'RUN_ABORTED', 'RUN_TIMEOUT'];

export class HostedInstance implements Instance {
  readonly ready: Promise<void>;
  readonly #options: HostedInstanceOptions;
  readonly #waiting: Set<string>;
  readonly #listeners: (() => void)[] = [];
  readonly #cancelTimeout: () => void;
  #member: InstanceMember | null = null;
  #settle: (error: StarlingError | null) => void = () => undefined;
  #lost: StarlingError | null = null;
  readonly #share = new ComputeShare();
  #runId = 0;

  constructor(options: HostedInstanceOptions) {
    this.#options = options;
    this.#waiting = new Set(options.instance.devices);
    this.ready = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === null ? resolve() : reject(error));
    });
    this.ready.catch(() => undefined);
    this.#cancelTimeout = options.clock.after(limits.instanceOpenMs, () => {
      const slow = [...this.#waiting].map((id) => id.slice(0, 8)).join(', ');
      this.lose(
        new StarlingError('SESSION_FAILED', `An instance was not ready in time; still waiting for ${slow}.`),
      );
    });
  }

  get placement(): Instance['placement'] {
    return this.#options.instance;
  }

  get threads(): number {
    return this.#options.instance.threads;
  }

  get lost(): StarlingError | null {
    return this.#lost;
  }

  get member(): InstanceMember | null {
    return this.#member;
  }

  start(): void {
    const { self, instance, tell, startMember } = this.#options;
    tell(instance);
    this.#member = startMember((error) => this.lose(error));
    this.#member.ready.then(
      () => this.#readyOn(self),
      (thrown: unknown) => this.lose(new DeviceRefusal(self, StarlingError.from(thrown, 'SESSION_FAILED'))),
    );
  }

  /** Another device is ready, or has lost its part. */
  heard(from: string, error: ErrorMessage | null): void {
    if (!this.placement.devices.includes(from)) return;
    if (error === null) this.#readyOn(from);
    else {
      const message = `Device ${from.slice(0, 8)}: ${error.message}`;
      this.lose(new DeviceRefusal(from, { code: error.code, message }));
    }
  }

  async run(inputs: RunInputs, signal: AbortSignal): Promise<InstanceResult> {
    if (this.#lost !== null) throw this.#lost;
    const worker = this.#member?.worker;
    if (worker === undefined) throw new StarlingError('NO_DEVICE', 'The instance is not ready.');
    const runId = ++this.#runId;
    const abort = () => void worker.abort(runId).catch(() => undefined);
    signal.addEventListener('abort', abort);
    try {
      const timeline = !this.#holdsShards && this.#share.next();
      return this.#withShare(await worker.run(runId, inputs, { timeline }));
    } catch (thrown) {
      const error = StarlingError.from(thrown, 'RUN_FAILED');
      if (!signal.aborted && endings.includes(error.code)) this.lose(error);
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  onLost(listener: () => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.lose(new StarlingError('RUN_ABORTED', 'The instance was closed.'));
  }

  /** Ends it on all its devices; nothing where it has ended. */
  lose(reason: StarlingError): void {
    if (this.#lost !== null) return;
    const { tell, instance, onEnd } = this.#options;
    this.#lost = reason;
    this.#cancelTimeout();
    this.#member?.close(reason);
    tell({ type: 'instance-closed', number: instance.number });
    onEnd();
    this.#settle(reason);
    for (const listener of this.#listeners) listener();
  }

  get #holdsShards(): boolean {
    return holders(this.placement).includes(this.#options.self);
  }

  /** A host without shards knows how long the others computed from their notes only. */
  #withShare({ timeline, ...result }: RunResult): InstanceResult {
    if (timeline !== undefined) this.#share.note(timeline);
    const { stats } = result;
    const computeMs = this.#holdsShards ? null : this.#share.of(stats.totalMs);
    if (computeMs === null) return result;
    return { ...result, stats: { ...stats, computeMs, waitMs: stats.totalMs - computeMs } };
  }

  #readyOn(id: string): void {
    this.#waiting.delete(id);
    if (this.#waiting.size > 0 || this.#lost !== null) return;
    this.#cancelTimeout();
    this.#settle(null);
  }
}
