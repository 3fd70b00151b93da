/**
 * What is known of the settings tried so far, and what follows from it for the others. Measurements of before a
 * change of speed are kept as assumptions, in proportion, until a new one confirms or corrects them.
 */
import { type Setting, sameSetting, type WindowReport } from './setting.ts';

export interface Measured {
  readonly setting: Setting;
  readonly p95Ms: number;
  readonly medianMs: number;
  /** Items per second. */
  readonly throughput: number;
  /** Not seen since the speed changed, or in too few batches to rely on. */
  readonly assumed: boolean;
  /** Since the speed changed, in however few batches. */
  readonly seen: boolean;
}

const nearMiss = 1.25;

export class Measurements {
  #points: Measured[] = [];

  get all(): readonly Measured[] {
    return this.#points;
  }

  get(setting: Setting): Measured | undefined {
    return this.#points.find((point) => sameSetting(point.setting, setting));
  }

  /** Measured since the last change, not assumed. */
  known(setting: Setting): Measured | undefined {
    const point = this.get(setting);
    return point?.assumed === false ? point : undefined;
  }

  /** Measured since the last change, if only in a few batches. */
  seen(setting: Setting): Measured | undefined {
    const point = this.get(setting);
    return point?.seen === true ? point : undefined;
  }

  record(report: WindowReport): Measured {
    const { setting, p95Ms, medianMs, throughput, isHasty: assumed = false } = report;
    const before = this.get(setting);
    const point = { setting, p95Ms, medianMs, throughput, assumed, seen: true };
    const others = this.#points.filter((other) => other !== before);
    this.#points = [...others, point];
    if (before?.assumed === true) this.#scaleAssumed(medianMs / before.medianMs);
    return point;
  }

  /** Everything has become `ratio` times as slow: nothing is known for sure any more. */
  assume(ratio: number): void {
    this.#points = this.#points.map((point) => ({ ...point, assumed: true, seen: false }));
    this.#scaleAssumed(ratio);
  }

  /**
   * A setting that missed the limit by little, or by few batches, may have had a bad moment: it may be tried again, if
   * it would serve more than `throughput`. False where there is none.
   */
  forgetNearestMiss(p95Ms: number, throughput: number): boolean {
    const misses = this.#points.filter(({ setting, assumed, ...point }) => {
      const isNear = point.p95Ms <= nearMiss * p95Ms || point.medianMs <= p95Ms;
      const pays = (1000 * setting.batch * setting.instances) / point.medianMs > throughput;
      return !assumed && point.p95Ms > p95Ms && isNear && pays;
    });
    const nearest = misses.sort((a, b) => a.medianMs - b.medianMs)[0];
    if (nearest === undefined) return false;
    this.#points = this.#points.filter((point) => point !== nearest);
    return true;
  }

  clear(): void {
    this.#points = [];
  }

  /** The known setting with the highest throughput of those that keep the limit, with so many threads or any. */
  bestWithin(p95Ms: number, threads?: number): Measured | undefined {
    const fitting = this.#points.filter(
      (point) =>
        !point.assumed &&
        point.p95Ms <= p95Ms &&
        (threads ?? point.setting.threads) === point.setting.threads,
    );
    return fitting.sort((a, b) => b.throughput - a.throughput)[0];
  }

  /** The known setting with the lowest latency. */
  fastest(): Measured | undefined {
    return this.#points.filter((point) => !point.assumed).sort((a, b) => a.p95Ms - b.p95Ms)[0];
  }

  /**
   * Between what the p95 of a setting must lie, in milliseconds, if more batch or more instances never make a batch
   * faster, and cost at most in proportion. Undefined with nothing measured for its number of threads.
   */
  bounds(setting: Setting): { readonly low: number; readonly high: number } | undefined {
    let low = 0;
    let high = Number.POSITIVE_INFINITY;
    for (const { setting: other, p95Ms } of this.#points) {
      if (other.threads !== setting.threads) continue;
      const batch = setting.batch / other.batch;
      const instances = setting.instances / other.instances;
      low = Math.max(low, p95Ms * Math.min(1, batch) * Math.min(1, instances));
      high = Math.min(high, p95Ms * Math.max(1, batch) * Math.max(1, instances));
    }
    return low === 0 ? undefined : { low, high };
  }

  #scaleAssumed(ratio: number): void {
    this.#points = this.#points.map((point) =>
      point.assumed
        ? {
            ...point,
            p95Ms: point.p95Ms * ratio,
            medianMs: point.medianMs * ratio,
            throughput: point.throughput / ratio,
          }
        : point,
    );
  }
}
