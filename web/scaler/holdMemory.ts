/** What outlives a search: settings that were held before, and when what did not fit is tried again. */
import type { Measured } from './measurements.ts';
import { type Setting, sameSetting, type WindowReport } from './setting.ts';

/** Full windows until something is tried again; doubles, so that trying takes ever less of the time. */
class RetryInterval {
  readonly #first: number;
  #windows: number;

  constructor(first: number) {
    this.#first = first;
    this.#windows = first;
  }

  get windows(): number {
    return this.#windows;
  }

  lengthen(): void {
    this.#windows *= 2;
  }

  reset(): void {
    this.#windows = this.#first;
  }
}

/**
 * Settings that were held, with the mean that they served. A bad moment may make a search end elsewhere, and nothing
 * at the new place tells that it is over: what once served more is tried again, at intervals that double.
 */
class HeldBefore {
  #held: Pick<Measured, 'setting' | 'p95Ms' | 'throughput'>[] = [];

  note({ setting, p95Ms, throughput }: WindowReport): void {
    this.#held = [
      ...this.#held.filter((held) => !sameSetting(held.setting, setting)),
      { setting, p95Ms, throughput },
    ];
  }

  /** The one that served most within the limit, where that is more than `throughput`. */
  better(p95Ms: number, throughput: number): Setting | undefined {
    return this.#held
      .filter((held) => held.p95Ms <= p95Ms && held.throughput > throughput)
      .sort((a, b) => b.throughput - a.throughput)[0]?.setting;
  }
}

export class HoldMemory {
  /** A near miss will most likely miss again: trying stays below one window in a hundred. */
  readonly nearMiss = new RetryInterval(150);
  readonly before = new RetryInterval(10);
  readonly held = new HeldBefore();
}
