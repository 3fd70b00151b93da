/**
 * Collects one window of traffic under one setting and says when it tells enough. The first batch of every instance
 * after a change is warm-up: it ran partly beside the setting before, and does not count; only where there is no time
 * for more than a few batches it does.
 */
import { limits } from '../../protocol/limits.ts';
import { percentile } from './percentile.ts';
import type { Proposal, WindowReport } from './setting.ts';

export interface ServedBatch {
  readonly items: number;
  readonly runs: number;
  /** From its start to its answer. */
  readonly serviceMs: number;
  /** More runs waited when it started. */
  readonly moreWaited: boolean;
}

/** Of a window's time: of longer batches none is left out as warm-up. */
export const longShare = 1 / 3;

export class MeasuringWindow {
  readonly #proposal: Proposal;
  readonly #needed: number;
  readonly #settledAt: number;
  readonly #endsAt: number;
  #warmUp: number;
  #openedAt: number;
  #batches = 0;
  #items = 0;
  #pressed = 0;
  #over = 0;
  readonly #latencies: number[] = [];

  /** `warmUp` batches, and all until `settledAt`, are left out; the window opens with the last of them, or now. */
  constructor(proposal: Proposal, warmUp: number, now: number, settledAt = now) {
    const { instances } = proposal.setting;
    const batches = proposal.phase === 'probe' ? limits.probeBatches : limits.windowBatches;
    this.#proposal = proposal;
    // Whole rounds of all instances: else what is under way at the end makes the throughput look lower.
    this.#needed = Math.ceil(batches / instances) * instances;
    this.#warmUp = warmUp;
    this.#settledAt = settledAt;
    this.#openedAt = now;
    this.#endsAt = Math.max(now, settledAt) + (proposal.withinMs ?? Number.POSITIVE_INFINITY);
  }

  /** False for warm-up. */
  counts(now: number): boolean {
    return this.#warmUp === 0 && now >= this.#settledAt;
  }

  /** The report when this batch completed the window, else null. */
  add(batch: ServedBatch, p95LimitMs: number, now: number): WindowReport | null {
    const { withinMs } = this.#proposal;
    const isLong = withinMs !== undefined && batch.serviceMs > longShare * withinMs;
    if ((this.#warmUp > 0 && !isLong) || now < this.#settledAt) {
      this.#warmUp = Math.max(0, this.#warmUp - 1);
      this.#openedAt = now;
      return null;
    }
    this.#batches++;
    this.#items += batch.items;
    // Callers that ask again when they are answered come too late to be seen waiting: full batches tell of them.
    const { batch: most } = this.#proposal.setting;
    if (batch.moreWaited || (most > 1 && batch.items >= most)) this.#pressed++;
    if (batch.serviceMs > p95LimitMs) this.#over++;
    for (let i = 0; i < batch.runs; i++) this.#latencies.push(batch.serviceMs);
    return this.#isEnough(now, batch.serviceMs) ? this.#report(now) : null;
  }

  #isEnough(now: number, serviceMs: number): boolean {
    const elapsedMs = now - this.#openedAt;
    const { phase, setting } = this.#proposal;
    const isRound = this.#batches % setting.instances === 0;
    if (now >= this.#endsAt || (isRound && now + serviceMs > this.#endsAt)) return true;
    if (elapsedMs < limits.windowShortestMs) return false;
    if (this.#batches >= this.#needed) return isRound;
    // So many over the limit that the rest of the window cannot bring its p95 below it: no need to go on.
    if (phase !== 'probe' && this.#over > 0.05 * Math.max(this.#needed, this.#batches)) return true;
    const least = Math.max(limits.windowLeastBatches, setting.instances);
    return elapsedMs >= limits.windowMs && this.#batches >= least;
  }

  #report(now: number): WindowReport {
    const { setting, withinMs } = this.#proposal;
    const elapsedMs = Math.max(now - this.#openedAt, 1e-3);
    // Cut short before all instances have answered: each would go on like those that have.
    const rounds = Math.max(1, setting.instances / this.#batches);
    return {
      setting,
      batches: this.#batches,
      items: this.#items,
      p95Ms: percentile(this.#latencies, 0.95),
      medianMs: percentile(this.#latencies, 0.5),
      lateShare: this.#over / Math.max(this.#needed, this.#batches),
      throughput: (1000 * this.#items * rounds) / elapsedMs,
      saturated: this.#pressed >= 0.8 * this.#batches,
      isHasty: withinMs !== undefined && this.#batches < limits.windowLeastBatches,
    };
  }
}
