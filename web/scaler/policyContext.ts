/** What a policy reads of the world around it, and the step all policies share: measure one setting. */
import { keepsOverAll, mayBeBadMoment, mayStillKeep } from './badMoment.ts';
import type { LatencyCorrection } from './latencyEstimate.ts';
import type { Measured, Measurements } from './measurements.ts';
import type { Objective, Proposal, ScalerLimits, Search, Setting, WindowReport } from './setting.ts';

export interface PolicyContext {
  /** Both may change between two windows. */
  readonly limits: ScalerLimits;
  readonly objective: Objective;
  /** Outlives a restart of the policy, as after a new objective. */
  readonly measurements: Measurements;
  /** Learned part of the latency estimate. */
  readonly correction: LatencyCorrection;
  /** What runs now. */
  readonly current: Setting;
}

/** A search takes a setting only with this part of the objective to spare; else every second window would miss it. */
export const searchMargin = 0.98;
/** A setting must promise so much more throughput to be worth a window. */
export const worthwhileGain = 1.02;
/** Below this part of the objective, with runs waiting, something is left unused. */
export const bandStart = 0.85;

/** Runs under `setting` until a window tells something of it: runs that wait, or a missed objective. */
export function* measure(
  context: PolicyContext,
  setting: Setting,
  reason: string,
  further: Partial<Pick<Proposal, 'phase' | 'withinMs'>> = {},
): Search<Measured> {
  const looks: WindowReport[] = [];
  for (;;) {
    const report: WindowReport = yield {
      setting,
      phase: 'search',
      reason,
      ...further,
      afresh: looks.length > 0,
    };
    const { objective, measurements } = context;
    if (!report.saturated && report.p95Ms <= objective.p95Ms) {
      reason = 'The load does not fill this setting, so nothing has to change.';
      continue;
    }
    looks.push(report);
    const isDecided =
      further.phase === 'probe' ||
      (report.p95Ms <= objective.p95Ms && keepsOverAll(looks)) ||
      !mayStillKeep(looks) ||
      !deservesAnotherLook(report, context);
    if (isDecided) return measurements.record(judged(looks, objective.p95Ms));
    reason = 'A few batches took long and the others did not: looking again.';
  }
}

/** One for all: the best one where the objective is kept over all of them, else the one that missed it least. */
function judged(looks: readonly WindowReport[], limitMs: number): WindowReport {
  const missed = looks.filter(({ p95Ms }) => p95Ms > limitMs);
  const fitting = keepsOverAll(looks) || missed.length === 0 ? looks : missed;
  return fitting.reduce((a, b) => (b.p95Ms < a.p95Ms ? b : a));
}

/** Where the setting would be taken, had the window not missed the objective by what may be a bad moment. */
function deservesAnotherLook(report: WindowReport, { objective, measurements }: PolicyContext): boolean {
  const { batch, instances } = report.setting;
  // The pause itself served nothing: what the setting could serve is in its median.
  const throughput = (1000 * batch * instances) / report.medianMs;
  const best = measurements.bestWithin(objective.p95Ms)?.throughput ?? 0;
  const isMissed = report.p95Ms > objective.p95Ms;
  return (!isMissed || mayBeBadMoment(report, objective.p95Ms)) && throughput > best;
}

/** What is known of `setting`, else what a measurement says. */
export function* knownOrMeasured(context: PolicyContext, setting: Setting, reason: string): Search<Measured> {
  return context.measurements.known(setting) ?? (yield* measure(context, setting, reason));
}

export function defaultThreads(limits: ScalerLimits): number {
  return limits.threads[0] ?? 1;
}

/** How far one step may go up: at most four times, and from 1 never straight to the maximum. */
export function highestStep(from: number, max: number): number {
  const highest = Math.min(4 * from, max);
  return from === 1 && highest === max && max > 2 ? max - 1 : highest;
}
