/**
 * Stays with a setting that was found until it does not fit any more: the objective is missed, the speed has changed,
 * or a setting that once missed the objective deserves another try.
 */
import { limits } from '../../protocol/limits.ts';
import { mayBeBadMoment, RecentWindows } from './badMoment.ts';
import type { HoldMemory } from './holdMemory.ts';
import type { Measured, Measurements } from './measurements.ts';
import { bandStart, measure, type PolicyContext, searchMargin, worthwhileGain } from './policyContext.ts';
import { type Search, type Setting, settingText, type WindowReport } from './setting.ts';
import { SteadyWindows } from './steadyWindows.ts';

/** Speeds that differ by less are noise. */
const noticeable = 1.25;
/** Windows of one and the same setting differ by so much in their throughput. */
const throughputNoise = 1.03;
/** Speeds that differ by so much: what was measured before says nothing any more. */
const anotherWorld = 2;
/** One window may be a bad moment of the machine, and so may two; so many in a row are a change. */
const lastingWindows = 3;

/**
 * Comes back when the search is to be repeated; where that goes by throughput, also when another setting has come to
 * be the better one.
 */
export function* hold(
  context: PolicyContext,
  setting: Setting,
  memory: HoldMemory,
  { byThroughput }: { readonly byThroughput: boolean },
): Search<void> {
  const { measurements } = context;
  let changed = 0;
  let afresh = false;
  const recent = new RecentWindows();
  const steady = new SteadyWindows();
  for (let windows = 0, sinceBefore = 0; ; ) {
    const report = yield { setting, phase: 'hold', reason: reasonFor(context, setting), afresh };
    const limitMs = context.objective.p95Ms;
    const isMissed = report.p95Ms > limitMs;
    if (!report.saturated && !isMissed) continue;
    // Windows of slow models are cut short, and count as the part they are.
    const part = Math.min(1, report.batches / limits.windowBatches);
    windows += part;
    sinceBefore += part;
    const before = measurements.get(setting);
    const ratio = before === undefined ? 1 : slowdown(before, report);
    recent.add(report);
    const isOdd = mayBeBadMoment(report, limitMs, before?.p95Ms);
    afresh = isOdd && recent.keep();
    if (afresh) continue;
    if (isMissed && (before === undefined || before.p95Ms <= limitMs)) {
      noteChange(measurements, ratio, memory);
      measurements.record(isOdd ? { ...report, p95Ms: recent.leastMissMs(limitMs) } : report);
      return;
    }
    changed = ratio > noticeable || ratio < 1 / noticeable ? changed + 1 : 0;
    if (changed >= lastingWindows) {
      noteChange(measurements, ratio, memory);
      if (measurements.all.length > 0) measurements.record(report);
      return;
    }
    const mean = report.saturated && !isMissed ? steady.add(report) : null;
    if (mean !== null) {
      measurements.record(mean);
      memory.held.note(mean);
      const rival = measurements.bestWithin(searchMargin * limitMs);
      if (byThroughput && (rival?.throughput ?? 0) > throughputNoise * mean.throughput) return;
    }
    if (sinceBefore >= memory.before.windows) {
      const better = memory.held.better(limitMs, throughputNoise * report.throughput);
      if (better !== undefined) {
        memory.before.lengthen();
        yield* measure(context, better, 'This once served more: trying it again.');
        return;
      }
      sinceBefore = 0;
    }
    if (windows >= memory.nearMiss.windows) {
      memory.nearMiss.lengthen();
      if (measurements.forgetNearestMiss(limitMs, worthwhileGain * report.throughput)) return;
      windows = 0;
    }
  }
}

/**
 * How many times as slow as before, by what is served: where instances differ, as a whole model here and one on another
 * device do, the median lies now on the one and now on the other.
 */
function slowdown(before: Measured, report: WindowReport): number {
  return report.saturated ? before.throughput / report.throughput : report.medianMs / before.medianMs;
}

function noteChange(measurements: Measurements, ratio: number, { nearMiss, before }: HoldMemory): void {
  if (ratio <= noticeable && ratio >= 1 / noticeable) return;
  nearMiss.reset();
  before.reset();
  if (ratio > anotherWorld || ratio < 1 / anotherWorld) measurements.clear();
  else measurements.assume(ratio);
}

function reasonFor({ measurements, objective }: PolicyContext, setting: Setting): string {
  const p95Ms = measurements.get(setting)?.p95Ms;
  const text = settingText(setting);
  if (p95Ms === undefined) return `Holding ${text}.`;
  const share = Math.round((100 * p95Ms) / objective.p95Ms);
  if (share > 100) return `Nothing keeps ${objective.p95Ms} ms; ${text} comes nearest.`;
  if (share < 100 * bandStart)
    return `Holding ${text}: it uses ${share} % of the time, and more would miss it.`;
  return `Holding ${text}, which uses ${share} % of the objective.`;
}
