/**
 * How a knob pays, within a budget of time: straight at the probe's setting where even that is quick, else from the
 * largest that surely fits upwards by doubling, while what is measured promises that the next one fits too.
 */
import { limits as named } from '../../protocol/limits.ts';
import { boundedLatency } from './latencyEstimate.ts';
import type { Measured } from './measurements.ts';
import { longShare } from './measuringWindow.ts';
import { measure, type PolicyContext } from './policyContext.ts';
import { probeSettings } from './probeSettings.ts';
import type { Search, Setting, WindowReport } from './setting.ts';

export type Knob = 'batch' | 'instances';

/** What a profile has left of its time. Windows are the only clock that a policy has. */
export class TimeBudget {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  get leftMs(): number {
    return this.#leftMs;
  }

  spend(ms: number): void {
    this.#leftMs = Math.max(0, this.#leftMs - ms);
  }
}

/** The farthest that was measured; `one` itself where not even two fit. `one` is the setting with 1 of both knobs. */
export function* probeUpwards(
  context: PolicyContext,
  knob: Knob,
  one: Measured,
  budget = new TimeBudget(named.profileMs / 2),
): Search<Measured> {
  const most = probeSettings(context.limits)[knob][knob];
  let last = one;
  for (let size = firstSize(one.medianMs, budget.leftMs, most); size > last.setting[knob]; ) {
    const expectedMs = expected(knob, one, last, size);
    last = yield* probe(
      context,
      { ...one.setting, [knob]: size },
      knob === 'batch' ? `Profiling: batches of ${size}.` : `Profiling: ${size} instances.`,
      budget,
      size === most ? budget.leftMs : expectedMs,
    );
    const next = Math.min(most, 2 * size);
    size = expected(knob, one, last, next) <= budget.leftMs ? next : 0;
  }
  return last;
}

/** What was seen of a setting, else one window of it. */
export function* probe(
  context: PolicyContext,
  setting: Setting,
  reason: string,
  budget: TimeBudget,
  withinMs: number,
): Search<Measured> {
  const seen = context.measurements.seen(setting);
  if (seen !== undefined) return seen;
  const measured = measure(context, setting, reason, { phase: 'probe', withinMs });
  for (let step = measured.next(); ; ) {
    if (step.done === true) return step.value;
    const report: WindowReport = yield step.value;
    const warmUpMs = report.medianMs > longShare * withinMs ? 0 : report.medianMs;
    budget.spend(warmUpMs + (1000 * report.items) / report.throughput);
    step = measured.next(report);
  }
}

/** A power of two, or the most; costs grow at most in proportion. 1 where two would not fit. */
function firstSize(oneMs: number, budgetMs: number, most: number): number {
  const surely = budgetMs / oneMs;
  return surely >= most ? most : 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, surely))));
}

/** One batch, or one round of all instances. */
function expected(knob: Knob, one: Measured, last: Measured, size: number): number {
  const from = last.setting[knob];
  if (from === 1) return size * one.medianMs;
  if (knob === 'instances')
    return boundedLatency({ oneMs: one.medianMs, many: from, manyMs: last.medianMs }, size);
  const slope = Math.max(0, (last.medianMs - one.medianMs) / (from - 1));
  return last.medianMs + slope * (size - from);
}
