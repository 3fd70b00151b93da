/** What the panel shows of the last seconds: percentiles, throughput, where the time went. Decides nothing. */
import { limits } from '../../protocol/limits.ts';
import { percentile } from './percentile.ts';

export interface ServedRun {
  /** When it was answered, by the clock, in milliseconds. */
  readonly at: number;
  readonly items: number;
  /** In the queue. */
  readonly waitMs: number;
  /** From the start of its batch to its answer. */
  readonly serviceMs: number;
  readonly computeMs: number;
  readonly networkMs: number;
  /** Warm-up is served, but counts towards no percentile. */
  readonly counts: boolean;
}

export interface WindowStats {
  /** Of the time from the start of a batch to its answer, in milliseconds; null with nothing served. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  /** In the queue. */
  readonly waitP95Ms: number | null;
  /** Queue and service together. */
  readonly totalP95Ms: number | null;
  /** Items per second. */
  readonly throughput: number;
  /** Means per batch. */
  readonly computeMs: number | null;
  readonly networkMs: number | null;
}

export class SlidingWindow {
  #runs: ServedRun[] = [];

  add(run: ServedRun): void {
    this.#runs.push(run);
    // Forgetting one by one would copy the list with every run.
    if (this.#runs.length > 2 * limits.statsRuns) this.#runs = this.#runs.slice(-limits.statsRuns);
  }

  stats(now: number): WindowStats {
    // What lies in the future was served before the clock was set back.
    this.#runs = this.#runs
      .filter(({ at }) => at <= now && now - at < limits.statsMs)
      .slice(-limits.statsRuns);
    const counted = this.#runs.filter(({ counts }) => counts);
    const of = (share: number, value: (run: ServedRun) => number) =>
      counted.length === 0 ? null : percentile(counted.map(value), share);
    const mean = (value: (run: ServedRun) => number) =>
      counted.length === 0 ? null : counted.reduce((sum, run) => sum + value(run), 0) / counted.length;
    return {
      p50Ms: of(0.5, ({ serviceMs }) => serviceMs),
      p95Ms: of(0.95, ({ serviceMs }) => serviceMs),
      p99Ms: of(0.99, ({ serviceMs }) => serviceMs),
      waitP95Ms: of(0.95, ({ waitMs }) => waitMs),
      totalP95Ms: of(0.95, ({ waitMs, serviceMs }) => waitMs + serviceMs),
      throughput: this.throughput(now),
      computeMs: mean(({ computeMs }) => computeMs),
      networkMs: mean(({ networkMs }) => networkMs),
    };
  }

  /** Items per second since the oldest run in the window started; 0 with nothing served. */
  throughput(now: number): number {
    const [first] = this.#runs;
    if (first === undefined) return 0;
    const items = this.#runs.reduce((sum, run) => sum + run.items, 0);
    return (1000 * items) / Math.max(now - first.at + first.serviceMs, 1e-3);
  }
}
