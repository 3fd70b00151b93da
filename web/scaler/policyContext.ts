/** What a policy reads of the world around it, and the step all policies share: measure one setting. */
import { mayBeBadMoment } from './badMoment.ts';
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
  let doubted: WindowReport | null = null;
  for (;;) {
    const afresh: boolean = doubted !== null;
    const report: WindowReport = yield { setting, phase: 'search', reason, ...further, afresh };
    const { objective, measurements } = context;
    if (doubted === null && further.phase !== 'probe' && deservesSecondLook(report, context)) {
      doubted = report;
      reason = 'A few batches took long and the others did not: looking again.';
    } else if (doubted !== null) {
      return measurements.record(doubted.p95Ms < report.p95Ms ? doubted : report);
    } else if (report.saturated || report.p95Ms > objective.p95Ms) {
      return measurements.record(report);
    } else {
      reason = 'The load does not fill this setting, so nothing has to change.';
    }
  }
}

/** Where the setting would be taken, had the window not missed the objective by what may be a bad moment. */
function deservesSecondLook(report: WindowReport, { objective, measurements }: PolicyContext): boolean {
  const { batch, instances } = report.setting;
  // The pause itself served nothing: what the setting could serve is in its median.
  const throughput = (1000 * batch * instances) / report.medianMs;
  const best = measurements.bestWithin(objective.p95Ms)?.throughput ?? 0;
  return mayBeBadMoment(report, objective.p95Ms) && throughput > best;
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
