/** All ways to choose a setting on one network in one room, one after the other, and the few figures of each. */
import type { Decision } from '../../web/index.ts';
import { median, quantile, rounded } from '../figures.ts';
import type { Load, PlanCase, ScalerSettings } from '../page/manyRuns.ts';
import { adaptiveWays, alone, grid, maxBatch, maxInstances, objectiveFactor, type Way } from './models.ts';
import type { Measured, ScalerRoom } from './room.ts';

export interface WayResult {
  readonly way: string;
  readonly load: Load['kind'];
  readonly batch: number;
  readonly instances: number;
  /** Runs that were answered, and in how many seconds. */
  readonly n: number;
  readonly seconds: number;
  /** Runs per second: all, those served within the objective, and of single seconds the 10th and 90th percentile. */
  readonly throughput: number;
  readonly within: number;
  readonly perSecondP10: number;
  readonly perSecondP90: number;
  /** From the start of a batch to its answer, and from the call. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly totalP95Ms: number;
  readonly cpuSecondsPerItem: number | null;
  readonly computeMs: number | null;
  readonly networkMs: number | null;
  readonly refused: number;
  /** Devices of each instance. */
  readonly placements: readonly number[];
  readonly relativeError: number;
  readonly phase: string;
  readonly reason: string;
}

export interface MeasureOptions {
  readonly seconds: number;
  readonly adaptSeconds: number;
  /** Tells every decision too. */
  readonly trace: boolean;
  tell(what: string): void;
}

export interface Subject {
  readonly room: ScalerRoom;
  readonly given: PlanCase;
  /** Null: chosen by the room. */
  readonly devicesPerInstance: number | null;
}

export interface Objective {
  readonly p95Ms: number;
  /** What it was made of: the p95 of single runs in this very run. */
  readonly aloneP95Ms: number;
}

const unbounded = 1e6;

/** The objective of a subject: a multiple of what single runs take. */
export async function findObjective(subject: Subject, options: MeasureOptions): Promise<Objective> {
  const [first] = await measureWay(subject, alone, [{ kind: 'steady', count: 4 }], unbounded, options);
  if (first === undefined) throw new Error('Nothing was measured.');
  return { aloneP95Ms: first.p95Ms, p95Ms: Math.ceil(objectiveFactor * first.p50Ms) };
}

export async function measureWay(
  { room, given, devicesPerInstance }: Subject,
  { name, policy, adapts }: Way,
  loads: readonly Omit<Load, 'ms'>[],
  p95Ms: number,
  { seconds, adaptSeconds, trace, tell }: MeasureOptions,
): Promise<WayResult[]> {
  const settings: ScalerSettings = {
    p95Ms,
    maxBatch,
    maxInstances,
    policy,
    ...(devicesPerInstance === null ? {} : { devicesPerInstance }),
  };
  const adaptMs = adapts ? adaptSeconds * 1000 : 0;
  const timed = loads.map((load) => ({ ...load, ms: seconds * 1000 }));
  const measured = await room.measure(given, settings, timed, adaptMs);
  if (trace) for (const line of decisionLines(measured.at(-1)?.decisions ?? [])) tell(line);
  return measured.map((served, i) => {
    const result = figuresOf(name, loads[i]?.kind ?? 'steady', served, p95Ms);
    const { load, batch, instances, within, throughput } = result;
    tell(
      `  ${name}, ${load}: batch ${batch}, ${instances} instances; ${within} of ${throughput} a second within ${p95Ms} ms, p95 ${result.p95Ms} ms`,
    );
    return result;
  });
}

/** Every fixed setting under a steady stream; under bursts too (1, 1), the best fixed one, and all that adapt. */
export async function measureAll(
  subject: Subject,
  loads: { readonly steady: Omit<Load, 'ms'>; readonly burst: Omit<Load, 'ms'> },
  p95Ms: number,
  options: MeasureOptions,
): Promise<WayResult[]> {
  const { steady, burst } = loads;
  const both = [steady, burst];
  const results: WayResult[] = [];
  const add = async (way: Way, some: readonly Omit<Load, 'ms'>[]) => {
    results.push(...(await measureWay(subject, way, some, p95Ms, options)));
  };
  for (const way of grid) await add(way, way.name === alone.name ? both : [steady]);
  const best = results
    .filter(({ load }) => load === 'steady')
    .reduce((a, b) => (a.within >= b.within ? a : b));
  for (const way of grid) if (way.name === best.way && way.name !== alone.name) await add(way, [burst]);
  for (const way of adaptiveWays) await add(way, both);
  return results;
}

/** Of every window what was measured, and what was decided from it. */
function decisionLines(decisions: readonly Decision[]): string[] {
  const start = decisions[0]?.at ?? 0;
  return decisions.map(({ at, report, setting, phase, reason }) => {
    const seen =
      report === null
        ? 'no window'
        : `(${report.setting.batch}, ${report.setting.instances}) took ${report.p95Ms.toFixed(1)} ms at p95, ${report.medianMs.toFixed(1)} in the middle, ${report.throughput.toFixed(0)} a second in ${report.batches} batches`;
    return `    ${((at - start) / 1000).toFixed(1)} s: ${seen}; ${phase} (${setting.batch}, ${setting.instances}): ${reason}`;
  });
}

function figuresOf(way: string, load: Load['kind'], measured: Measured, p95Ms: number): WayResult {
  const {
    seconds,
    items,
    answered,
    serviceMs,
    totalMs,
    perSecond,
    setting,
    cpuSeconds,
    computeMs,
    networkMs,
  } = measured;
  const within = serviceMs.filter((ms) => ms <= p95Ms).length;
  const orNull = (value: number | null, digits?: number) => (value === null ? null : rounded(value, digits));
  return {
    way,
    load,
    batch: setting.batch,
    instances: setting.instances,
    n: items,
    seconds: rounded(seconds),
    throughput: rounded(items / seconds),
    within: rounded(within / seconds),
    perSecondP10: rounded(quantile(perSecond, 0.1)),
    perSecondP90: rounded(quantile(perSecond, 0.9)),
    p50Ms: rounded(median(serviceMs)),
    p95Ms: rounded(quantile(serviceMs, 0.95)),
    p99Ms: rounded(quantile(serviceMs, 0.99)),
    totalP95Ms: rounded(quantile(totalMs, 0.95)),
    cpuSecondsPerItem: orNull(cpuSeconds === null || answered === 0 ? null : cpuSeconds / answered, 5),
    computeMs: orNull(computeMs),
    networkMs: orNull(networkMs),
    refused: measured.refused,
    placements: measured.placements,
    relativeError: Number(measured.relativeError.toPrecision(3)),
    phase: measured.phase,
    reason: measured.reason,
  };
}
