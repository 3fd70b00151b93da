/**
 * Finds the most instances that keep the objective: starts at the largest number that should, by the estimate from
 * two probes, and goes on in single steps. More instances may be faster (a device that clocks up with load), so
 * where none keeps the objective it follows the latency down in either direction.
 */
import { estimateLatency } from './latencyEstimate.ts';
import type { Measured } from './measurements.ts';
import { bandStart, knownOrMeasured, measure, type PolicyContext, searchMargin } from './policyContext.ts';
import { probeSettings } from './probeSettings.ts';
import { probeUpwards } from './probeUpwards.ts';
import type { Search, Setting } from './setting.ts';

/** An estimate this far above the objective may still turn out to keep it. */
const reachable = 1.5;

/** The best setting with batches of one. */
export function* searchInstances(context: PolicyContext, threads: number): Search<Setting> {
  const { measurements, objective } = context;
  const at = (instances: number): Setting => ({ batch: 1, instances, threads });
  const predict = yield* predictor(context, threads);
  const target = searchMargin * objective.p95Ms;
  const latency = (instances: number) => measurements.known(at(instances))?.p95Ms ?? predict(instances);
  const { maxInstances } = context.limits;
  let here = startingPoint(context, threads, latency, target);
  for (let steps = 0; steps < 2 * maxInstances; steps++) {
    const reason = `Expecting ${Math.round(latency(here) * 10) / 10} ms at p95 with ${here}.`;
    const { p95Ms } = yield* knownOrMeasured(context, at(here), reason);
    const next: number =
      p95Ms <= target
        ? stepUp(here, p95Ms, latency, objective.p95Ms)
        : stepTowardsFaster(here, p95Ms, latency, (m) => measurements.known(at(m)), { target, maxInstances });
    if (next < 1 || next > maxInstances || next === here || measurements.known(at(next)) !== undefined) break;
    here = next;
  }
  return (
    most(context, threads, target) ??
    most(context, threads, objective.p95Ms) ??
    fastest(context, threads) ??
    at(1)
  );
}

function stepUp(here: number, p95Ms: number, latency: (m: number) => number, limitMs: number): number {
  const worthIt = p95Ms < bandStart * limitMs || latency(here + 1) <= limitMs;
  return worthIt ? here + 1 : here;
}

/**
 * Down first; where that should be slower still, the other way; then, as nothing keeps the objective anyway, whatever
 * could, nearest first.
 */
function stepTowardsFaster(
  here: number,
  p95Ms: number,
  latency: (m: number) => number,
  known: (m: number) => Measured | undefined,
  { target, maxInstances }: { readonly target: number; readonly maxInstances: number },
): number {
  const below = here > 1 ? known(here - 1) : undefined;
  if (below !== undefined && below.p95Ms <= target) return here;
  const open = Array.from({ length: maxInstances }, (_, i) => i + 1)
    .filter((m) => known(m) === undefined)
    .sort((a, b) => Math.abs(a - here) - Math.abs(b - here));
  const faster = open.find((m) => Math.abs(m - here) === 1 && latency(m) < p95Ms);
  return faster ?? open.find((m) => latency(m) <= reachable * target) ?? here;
}

/** The largest number that should keep the objective, else the one that should be fastest. */
function startingPoint(
  { limits, current, measurements }: PolicyContext,
  threads: number,
  latency: (m: number) => number,
  target: number,
): number {
  const candidates = Array.from({ length: limits.maxInstances }, (_, i) => limits.maxInstances - i);
  const fitting = candidates.find((m) => latency(m) <= target);
  const best = fitting ?? candidates.reduce((a, b) => (latency(b) < latency(a) ? b : a), 1);
  const isJump =
    current.instances === 1 &&
    best === limits.maxInstances &&
    best > 2 &&
    measurements.known({ batch: 1, instances: best, threads }) === undefined;
  return isJump ? best - 1 : best;
}

/** Latency over instances from the probes, in proportion to what was measured nearby since. */
function* predictor(context: PolicyContext, threads: number): Search<(instances: number) => number> {
  const { measurements, limits } = context;
  const probes = probeSettings(limits);
  const one = yield* assumedOrMeasured(context, { ...probes.one, threads });
  const far = farthest(context, threads) ?? (yield* probeUpwards(context, 'instances', one));
  const many = far.setting.instances;
  if (many === 1) return (instances) => instances * one.p95Ms;
  return (instances) => {
    const [low, high] = [measurements.get(one.setting) ?? one, measurements.get(far.setting) ?? far];
    const estimate = (m: number) =>
      estimateLatency({ oneMs: low.p95Ms, many, manyMs: high.p95Ms }, m, context.correction);
    const near = measurements.all
      .filter(({ setting }) => setting.batch === 1 && setting.threads === threads)
      .sort((a, b) => distance(a, instances) - distance(b, instances))[0];
    const factor = near === undefined ? 1 : near.p95Ms / estimate(near.setting.instances);
    return factor * estimate(instances);
  };
}

/** Of what is known of several instances: those of the second probe, else the most. */
function farthest({ measurements, limits }: PolicyContext, threads: number): Measured | undefined {
  const { instances } = probeSettings(limits).instances;
  const probed = measurements.get({ batch: 1, instances, threads });
  if (probed !== undefined) return probed;
  return measurements.all
    .filter(({ setting }) => setting.batch === 1 && setting.threads === threads && setting.instances > 1)
    .sort((a, b) => b.setting.instances - a.setting.instances)[0];
}

function* assumedOrMeasured(context: PolicyContext, setting: Setting): Search<Measured> {
  const reason = `Probing ${setting.instances} instances.`;
  return context.measurements.get(setting) ?? (yield* measure(context, setting, reason, { phase: 'probe' }));
}

function distance({ setting }: Measured, instances: number): number {
  return Math.abs(Math.log(setting.instances / instances));
}

function tried({ measurements }: PolicyContext, threads: number): Measured[] {
  return measurements.all.filter(
    ({ setting, assumed }) => !assumed && setting.batch === 1 && setting.threads === threads,
  );
}

function most(context: PolicyContext, threads: number, target: number): Setting | undefined {
  const keeping = tried(context, threads).filter(({ p95Ms }) => p95Ms <= target);
  return keeping.sort((a, b) => b.setting.instances - a.setting.instances)[0]?.setting;
}

function fastest(context: PolicyContext, threads: number): Setting | undefined {
  return tried(context, threads).sort((a, b) => a.p95Ms - b.p95Ms)[0]?.setting;
}
