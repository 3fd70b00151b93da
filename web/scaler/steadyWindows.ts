/**
 * What a setting serves while it is held, over several windows. The one window by which it was found was the best of
 * many, and so lucky more often than not; a mean of some is what rivals are compared with.
 */
import { percentile } from './percentile.ts';
import type { WindowReport } from './setting.ts';

/** Windows of one mean. */
const meanWindows = 5;

export class SteadyWindows {
  #reports: WindowReport[] = [];

  /** The mean, when this window completes one. */
  add(report: WindowReport): WindowReport | null {
    this.#reports.push(report);
    if (this.#reports.length < meanWindows) return null;
    const reports = this.#reports;
    this.#reports = [];
    return {
      ...report,
      p95Ms: percentile(
        reports.map(({ p95Ms }) => p95Ms),
        0.5,
      ),
      throughput: reports.reduce((sum, { throughput }) => sum + throughput, 0) / meanWindows,
    };
  }
}
