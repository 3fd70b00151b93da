/**
 * Keeps one device's Worker at the newest placement it was told of: opens the plan, loads the shards, one
 * Worker call at a time, skipping placements that are overtaken meanwhile. Knows nothing of other devices.
 */
import { StarlingError } from '../../protocol/errors.ts';
import type { LoadState, Placement } from '../../protocol/roomMessages.ts';
import type { DeviceApi, LoadProgress, LoadReport, PlanSummary } from '../../workers/api.ts';

export type FollowerDevice = Pick<DeviceApi, 'openPlan' | 'load'>;

export interface FollowerOptions {
  readonly self: string;
  readonly device: FollowerDevice;
  /** Addresses under which this device may find the plan, the best first. */
  readonly planAddresses: (plan: Placement['plan']) => readonly string[];
  /** Called whenever `load` or `plan` may have changed. */
  readonly onChange: () => void;
}

export interface OpenPlan {
  readonly url: string;
  readonly summary: PlanSummary;
}

export class Follower {
  readonly #options: FollowerOptions;
  #target: Placement | null = null;
  #load: LoadState | null = null;
  #plan: OpenPlan | null = null;
  #error: StarlingError | null = null;
  /** What was measured last, and on which model. */
  #known: { readonly model: string; readonly report: LoadReport } | null = null;
  /** The Worker's calls, one after the other; never rejects. */
  #tail: Promise<unknown> = Promise.resolve();
  #pumping = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Where the device stands with the placement it follows; null when it follows none. */
  get load(): LoadState | null {
    return this.#load;
  }

  /** What made the load fail, with its full cause. */
  get error(): StarlingError | null {
    return this.#error;
  }

  /** The plan that is open in the Worker. */
  get plan(): OpenPlan | null {
    return this.#plan;
  }

  /** Opens a plan that no host has pinned yet. A plan that is open already is not read again. */
  open(url: string): Promise<OpenPlan> {
    return this.#inTurn(async () => {
      if (this.#plan?.url === url) return this.#plan;
      return this.#openAt(url, null);
    });
  }

  /** Takes up a placement, or with null forgets the one it followed (what is loaded stays in the Worker). */
  follow(placement: Placement | null): void {
    const target = this.#target;
    if (target?.epoch === placement?.epoch && target?.host === placement?.host) return;
    this.#target = placement;
    this.#error = null;
    this.#load =
      placement === null
        ? null
        : {
            epoch: placement.epoch,
            host: placement.host,
            phase: 'loading',
            progress: 0,
            error: null,
            speed: null,
            heapBytes: null,
          };
    this.#options.onChange();
    if (!this.#pumping) void this.#pump();
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    let done: Placement | null = null;
    while (this.#target !== done) {
      const target: Placement | null = this.#target;
      if (target !== null) {
        await this.#inTurn(() => this.#take(target)).then(
          (found) => {
            this.#report(target, { phase: 'ready', progress: 1, error: null, ...this.#measured(found) });
          },
          (thrown: unknown) => this.#fail(target, thrown),
        );
      }
      done = target;
    }
    this.#pumping = false;
  }

  /**
   * A device that gets no shards this time is as fast as it was with those it had of the same model; of several
   * measurements the best counts, because whatever else goes on can only make it look slower.
   */
  #measured(found: LoadReport | undefined): LoadReport {
    const model = this.#plan?.summary.sourceSha256 ?? '';
    const known = this.#known?.model === model ? this.#known.report : { speed: null, heapBytes: null };
    const report = { ...known, ...found, speed: fastest(found?.speed ?? null, known.speed) };
    this.#known = { model, report };
    return report;
  }

  /** What was found out on the way; nothing where this device has no share. */
  async #take(placement: Placement): Promise<LoadReport | undefined> {
    const { plan } = placement;
    // The plan that is open already may have been read elsewhere than the host says.
    const opened = this.#plan?.summary.sha256 === plan.sha256 ? [this.#plan.url] : [];
    const addresses = new Set([...opened, ...this.#options.planAddresses(plan)]);
    let failure: unknown;
    for (const url of addresses) {
      if (placement !== this.#target) return undefined;
      try {
        return await this.#takeFrom(url, placement);
      } catch (thrown) {
        failure ??= thrown;
        if (!isPlanFault(thrown)) throw thrown;
      }
    }
    throw failure ?? new StarlingError('PLAN_NOT_FOUND', 'The address of the plan cannot be used here.');
  }

  async #takeFrom(url: string, placement: Placement): Promise<LoadReport | undefined> {
    const { plan } = placement;
    const { sha256 } = plan;
    if (this.#plan?.url !== url || this.#plan.summary.sha256 !== sha256)
      await this.#openAt(url, sha256, 'from' in plan ? plan.from : undefined);
    // A device without a share keeps the plan open only, so that its page knows inputs and outputs.
    if (placement !== this.#target || !placement.devices.includes(this.#options.self)) return undefined;
    const { epoch, devices, shards, host } = placement;
    return this.#options.device.load({ epoch, devices, shards, host }, (progress) =>
      this.#report(placement, { progress: loadFraction(progress) }),
    );
  }

  async #openAt(url: string, sha256: string | null, from?: string): Promise<OpenPlan> {
    this.#plan = null;
    const source = { url, sha256, ...(from === undefined ? {} : { from }) };
    const summary = await this.#options.device.openPlan(source);
    this.#plan = { url, summary };
    return this.#plan;
  }

  #report(placement: Placement, change: Partial<LoadState>): void {
    if (placement !== this.#target || this.#load === null) return;
    this.#load = { ...this.#load, ...change };
    this.#options.onChange();
  }

  #fail(placement: Placement, thrown: unknown): void {
    if (placement === this.#target) this.#error = StarlingError.from(thrown, 'SESSION_FAILED');
    const error = StarlingError.from(thrown, 'SESSION_FAILED').toJSON();
    this.#report(placement, { phase: 'failed', error });
  }

  #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(call);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}

/** The files at one address are missing or damaged; at another they may be right. */
function isPlanFault(thrown: unknown): boolean {
  const faults = ['PLAN_NOT_FOUND', 'PLAN_UNREADABLE', 'PLAN_VERSION', 'HASH_MISMATCH'];
  return thrown instanceof StarlingError && faults.includes(thrown.code);
}

/** Fetching is reported as the first four fifths of a load, creating sessions as the last. */
function loadFraction(progress: LoadProgress): number {
  switch (progress.phase) {
    case 'fetch':
      return progress.totalBytes > 0
        ? (0.8 * Math.min(progress.loadedBytes, progress.totalBytes)) / progress.totalBytes
        : 0;
    case 'sessions':
      return 0.8 + (progress.total > 0 ? (0.2 * progress.done) / progress.total : 0);
    case 'ready':
      return 1;
  }
}

function fastest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}
