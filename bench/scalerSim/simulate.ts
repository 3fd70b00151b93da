/**
 * One scaler on simulated instances in virtual time, under a load that may change: the scaler itself is the one that
 * the page runs. Judges from what the instances served, not from what the scaler says of itself.
 */
import type { LatencyCorrection } from '../../web/scaler/latencyEstimate.ts';
import { percentile } from '../../web/scaler/percentile.ts';
import type { PolicyChoice } from '../../web/scaler/policies.ts';
import { createScaler } from '../../web/scaler/scaler.ts';
import type { Decision } from '../../web/scaler/scalerApi.ts';
import type { ScalerLimits, Setting } from '../../web/scaler/setting.ts';
import { type LatencyCurve, type Pauses, SimulatedPool } from '../../web/scaler/testing/simulatedPool.ts';
import { VirtualClock } from '../../web/scaler/testing/virtualClock.ts';

/** Something that happens so many windows after the start. */
export interface Change {
  readonly atWindow: number;
  readonly p95Ms?: number;
  readonly curve?: LatencyCurve;
  readonly outstanding?: number;
}

export interface SimulationOptions {
  readonly curve: LatencyCurve;
  readonly limits: ScalerLimits;
  readonly p95Ms: number;
  readonly policy: PolicyChoice;
  readonly random: () => number;
  /** Standard deviation of the logarithm of a batch's latency. */
  readonly noise: number;
  readonly windows: number;
  /** Runs that wait or are under way at any time: the next one comes when one is answered. */
  readonly outstanding: number;
  readonly correction?: LatencyCorrection;
  readonly changes?: readonly Change[];
  readonly pauses?: Pauses;
}

export interface Served {
  readonly at: number;
  readonly serviceMs: number;
  readonly items: number;
}

export interface SimulationResult {
  readonly decisions: readonly Decision[];
  readonly served: readonly Served[];
  /** When each change happened. */
  readonly changedAt: readonly number[];
  readonly endedAt: number;
  readonly setting: Setting;
}

/** A window that judges, in batches: as long as the scaler's own. */
const judgedBatches = 20;

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const clock = new VirtualClock();
  const served: Served[] = [];
  const decisions: Decision[] = [];
  const normal = gaussian(options.random);
  const pool = new SimulatedPool({
    clock,
    curve: options.curve,
    capacity: options.limits.maxInstances,
    noise: () => Math.exp(options.noise * normal()),
    ...(options.pauses === undefined ? {} : { pauses: options.pauses }),
    onServed: (batch) => served.push(batch),
  });
  let windows = 0;
  const scaler = createScaler({
    pool,
    clock,
    objective: { p95Ms: options.p95Ms },
    limits: options.limits,
    policy: options.policy,
    ...(options.correction === undefined ? {} : { correction: options.correction }),
    queueCapacity: 10_000,
    onDecision: (decision) => {
      decisions.push(decision);
      if (decision.report !== null) windows++;
    },
  });
  let [wanted, outstanding, nextId] = [options.outstanding, 0, 0];
  const submit = () => {
    while (outstanding < wanted) {
      outstanding++;
      const again = () => {
        outstanding--;
        submit();
      };
      scaler.submit({ id: nextId++, items: 1, shape: '' }, { deadlineMs: 1e9 }).then(again, again);
    }
  };
  submit();
  const changedAt: number[] = [];
  const total = options.windows;
  for (const change of [...(options.changes ?? []), { atWindow: total }]) {
    await clock.advance(1e9, () => windows >= change.atWindow);
    if (change.atWindow === total) break;
    changedAt.push(clock.now());
    if (change.curve !== undefined) pool.curve = change.curve;
    if (change.outstanding !== undefined) wanted = change.outstanding;
    if (change.p95Ms !== undefined) scaler.setObjective({ p95Ms: change.p95Ms });
    submit();
  }
  // A search that the end interrupts has not changed what was found.
  const held = decisions.findLast(({ phase }) => phase === 'hold') ?? scaler.stats().decision;
  return { decisions, served, changedAt, endedAt: clock.now(), setting: held.setting };
}

/** Windows until the first `hold` after `from`, and when that was; all of them where it never came. */
export function convergence(
  { decisions, endedAt }: SimulationResult,
  from = 0,
): { readonly windows: number; readonly at: number } {
  const since = decisions.filter(({ at }) => at >= from);
  const held = since.findIndex(({ phase }) => phase === 'hold');
  const until = held < 0 ? since : since.slice(0, held + 1);
  return {
    windows: until.filter(({ report }) => report !== null).length,
    at: held < 0 ? endedAt : (since[held]?.at ?? endedAt),
  };
}

export interface Judged {
  /** Share of windows whose p95 missed the objective. */
  readonly violations: number;
  readonly windows: number;
  /** Items per second, all of them, and those that took no longer than the objective. */
  readonly throughput: number;
  readonly throughputWithin: number;
  /** Mean p95 over the windows, as part of the objective. */
  readonly p95Share: number;
}

export function judge(served: readonly Served[], p95Ms: number, from: number, to: number): Judged {
  // A batch that was started before belongs to the setting before: warm-up.
  const inside = served.filter(({ at, serviceMs }) => at - serviceMs >= from && at <= to);
  const windows = Array.from({ length: Math.floor(inside.length / judgedBatches) }, (_, i) =>
    inside.slice(i * judgedBatches, (i + 1) * judgedBatches),
  );
  let [missed, items, itemsWithin, shares] = [0, 0, 0, 0];
  for (const window of windows) {
    const p95 = percentile(
      window.flatMap((batch) => new Array<number>(batch.items).fill(batch.serviceMs)),
      0.95,
    );
    const count = window.reduce((sum, batch) => sum + batch.items, 0);
    shares += p95 / p95Ms;
    items += count;
    itemsWithin += window.reduce((sum, batch) => sum + (batch.serviceMs <= p95Ms ? batch.items : 0), 0);
    if (p95 > p95Ms) missed++;
  }
  const seconds = Math.max((windows.at(-1)?.at(-1)?.at ?? from) - from, 1e-9) / 1000;
  return {
    violations: missed / Math.max(1, windows.length),
    windows: windows.length,
    throughput: items / seconds,
    throughputWithin: itemsWithin / seconds,
    p95Share: shares / Math.max(1, windows.length),
  };
}

/** Standard normal (Box and Muller). */
function gaussian(random: () => number): () => number {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
