/**
 * The words of the scaler: what it turns (a setting), within which limits, towards which objective, what it is told
 * after every window, and what it answers. Data only.
 */

/** How a room is used: runs per batch and batches in flight. */
export interface Setting {
  /** Most items of one batch, 1 or more. */
  readonly batch: number;
  /** Batches in flight at once, 1 or more. */
  readonly instances: number;
  /** Threads of each instance. */
  readonly threads: number;
}

export interface ScalerLimits {
  readonly maxBatch: number;
  readonly maxInstances: number;
  /** Threads an instance may have, the usual number first; one entry where there is nothing to choose. */
  readonly threads: readonly number[];
}

export interface Objective {
  /**
   * 95 of 100 runs are to be served in so many milliseconds, from the moment their batch starts until its answer.
   * The time in the queue before that is bounded by the queue and by deadlines; no setting shortens it but a faster one.
   */
  readonly p95Ms: number;
}

/** What a policy wants to be measured next. */
export interface Proposal {
  readonly setting: Setting;
  /** One sentence for the panel. */
  readonly reason: string;
  /** `probe` windows are short and the profiler's; `search` looks for the setting; `hold` has found it. */
  readonly phase: 'probe' | 'search' | 'hold';
  /**
   * The window may take so long, warm-up included: it ends before a further batch would not fit, and with one batch at
   * least. Without it a window is as long as its phase asks for.
   */
  readonly withinMs?: number;
  /** What is under way belongs to a bad moment, and does not count. */
  readonly afresh?: boolean;
}

/** One window of traffic under one setting; nothing of warm-up and of the setting before is in it. */
export interface WindowReport {
  readonly setting: Setting;
  readonly batches: number;
  readonly items: number;
  readonly p95Ms: number;
  readonly medianMs: number;
  /** Batches that took longer than the objective, as a share of those of a full window. */
  readonly lateShare: number;
  /** Items per second. */
  readonly throughput: number;
  /** Batches were full or more runs waited: the setting was at its limit, not the load. */
  readonly saturated: boolean;
  /** There was time for a few batches only: nothing to rely on. */
  readonly isHasty?: boolean;
}

/**
 * A policy decides, window by window, which setting comes next. It is a generator: it yields what it wants and gets
 * the report of that window; it never returns. It knows no clock, no queue and no room.
 */
export type Policy = Generator<Proposal, never, WindowReport>;

/** A part of a policy that comes to a result. */
export type Search<Result> = Generator<Proposal, Result, WindowReport>;

export function sameSetting(a: Setting, b: Setting): boolean {
  return a.batch === b.batch && a.instances === b.instances && a.threads === b.threads;
}

export function settingText({ batch, instances, threads }: Setting): string {
  return `batch ${batch}, ${instances} ${instances === 1 ? 'instance' : 'instances'}${threads === 1 ? '' : ` of ${threads} threads`}`;
}
