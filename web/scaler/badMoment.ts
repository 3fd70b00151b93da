/**
 * A bad moment of the machine (a pause, another program, a stutter of the network) hits a few batches and leaves the
 * others as they were; a setting that is too slow is slow in the middle too. One window cannot tell them apart for sure:
 * while searching it deserves another look, while holding the last few windows are judged together.
 */
import type { WindowReport } from './setting.ts';

/** Noise alone does not take a p95 so far from what is usual. */
const spread = 1.5;
/** Windows that are judged together. */
const recentWindows = 5;
/** Of the runs, so many may be late: the objective is a p95. */
const mostLate = 0.05;
/** Looks at a setting while searching. */
const mostLooks = 4;

const meanLate = (reports: readonly WindowReport[], count = reports.length): number =>
  reports.reduce((sum, { lateShare }) => sum + lateShare, 0) / count;

/** Whether no more runs were late than may be, over all of these windows. */
export function keepsOverAll(reports: readonly WindowReport[]): boolean {
  return meanLate(reports) <= mostLate;
}

/** Whether further looks without anything late could make up for these. */
export function mayStillKeep(reports: readonly WindowReport[]): boolean {
  return reports.length < mostLooks && meanLate(reports, mostLooks) <= mostLate;
}

/** `usualMs`: what is known of the setting's latency, or else what most batches of the window took. */
export function mayBeBadMoment(
  { p95Ms, medianMs, batches, setting }: WindowReport,
  limitMs: number,
  usualMs: number = medianMs,
): boolean {
  // A pause makes one batch of every instance late, and a window that begins with it may hold no others.
  const isPause = medianMs <= limitMs || batches <= setting.instances;
  return isPause && p95Ms > limitMs && usualMs <= limitMs && p95Ms > spread * usualMs;
}

export class RecentWindows {
  #reports: WindowReport[] = [];

  add(report: WindowReport): void {
    this.#reports = [...this.#reports, report].slice(-recentWindows);
  }

  /** Whether the objective is kept over all of them; those that are not there yet had nothing late. */
  keep(): boolean {
    return meanLate(this.#reports, recentWindows) <= mostLate;
  }

  /** The lowest p95 of those that missed the limit. */
  leastMissMs(limitMs: number): number {
    return Math.min(...this.#reports.map(({ p95Ms }) => p95Ms).filter((p95Ms) => p95Ms > limitMs));
  }
}
