/** All ways to choose a setting on one network in one room, one after the other, and the few figures of each. */
import type { Decision } from '../../web/index.ts';
import { mean, median, quantile, rounded } from '../figures.ts';
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
  /** Of each round, where there were several: a machine's speed drifts, and what is compared is measured in turn. */
  readonly withinRounds?: readonly number[];
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
  /** Of what is compared in turn. */
  readonly rounds: number;
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

/**
 * Every fixed setting under a steady stream, and single runs under bursts too; then, under both and in rounds, the best
 * fixed setting and all that adapt.
 */
export async function measureAll(
  subject: Subject,
  loads: { readonly steady: Omit<Load, 'ms'>; readonly burst: Omit<Load, 'ms'> },
  p95Ms: number,
  options: MeasureOptions,
): Promise<WayResult[]> {
  const { steady, burst } = loads;
  const both = [steady, burst];
  const results: WayResult[] = [];
  for (const way of grid) {
    const some = way.name === alone.name ? both : [steady];
    results.push(...(await measureWay(subject, way, some, p95Ms, options)));
  }
  const best = results
    .filter(({ load }) => load === 'steady')
    .reduce((a, b) => (a.within >= b.within ? a : b));
  const compared = [...grid.filter(({ name }) => name === best.way && name !== alone.name), ...adaptiveWays];
  const rounds: WayResult[] = [];
  for (let round = 0; round < options.rounds; round++) {
    for (const way of compared) rounds.push(...(await measureWay(subject, way, both, p95Ms, options)));
  }
  const inTurn = compared.flatMap(({ name }) =>
    both.map(({ kind }) => meanOf(rounds.filter(({ way, load }) => way === name && load === kind))),
  );
  // The best of a grid was lucky: what it does in turn with the others takes the place of how it was found.
  const replaced = new Set(inTurn.map(({ way }) => way));
  return [...results.filter(({ way }) => !replaced.has(way)), ...inTurn];
}

/** Of several rounds: sums of counts, means of rates, medians of latencies; setting and reason of the last. */
function meanOf(rounds: readonly WayResult[]): WayResult {
  const last = rounds.at(-1);
  if (last === undefined) throw new Error('Nothing was measured.');
  const all = (of: (result: WayResult) => number) => rounds.map(of);
  const average = (of: (result: WayResult) => number) => rounded(mean(all(of)));
  const middle = (of: (result: WayResult) => number) => rounded(median(all(of)));
  const cpu = rounds.flatMap(({ cpuSecondsPerItem }) =>
    cpuSecondsPerItem === null ? [] : [cpuSecondsPerItem],
  );
  return {
    ...last,
    n: sum(all(({ n }) => n)),
    seconds: rounded(sum(all(({ seconds }) => seconds))),
    throughput: average(({ throughput }) => throughput),
    within: average(({ within }) => within),
    withinRounds: all(({ within }) => within),
    perSecondP10: average(({ perSecondP10 }) => perSecondP10),
    perSecondP90: average(({ perSecondP90 }) => perSecondP90),
    p50Ms: middle(({ p50Ms }) => p50Ms),
    p95Ms: middle(({ p95Ms }) => p95Ms),
    p99Ms: middle(({ p99Ms }) => p99Ms),
    totalP95Ms: middle(({ totalP95Ms }) => totalP95Ms),
    cpuSecondsPerItem: cpu.length === 0 ? null : rounded(mean(cpu), 5),
    refused: sum(all(({ refused }) => refused)),
    relativeError: Math.max(...all(({ relativeError }) => relativeError)),
  };
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

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
