/**
 * Turns both knobs, and the threads of an instance where there is a choice. Both single searches come first, so that
 * the result is never worse than the better of them; then the settings that the measurements leave room for, most
 * promising first, until none is left that could be noticeably better.
 */
import { searchBatch } from './batchScaler.ts';
import { jointThroughput } from './gains.ts';
import type { Measured } from './measurements.ts';
import {
  defaultThreads,
  highestStep,
  knownOrMeasured,
  type PolicyContext,
  searchMargin,
  worthwhileGain,
} from './policyContext.ts';
import { type Profile, profile } from './profiler.ts';
import type { Search, Setting } from './setting.ts';
import { searchInstances } from './tenancyScaler.ts';

/**
 * Where between its bounds a latency is expected: nearer to the lower one, as a setting tried in vain costs a window,
 * one never tried throughput for good.
 */
const hope = 0.75;
/** Of settings that differ by less in their throughput, none is better. */
const equal = 1.01;
/** Each search ends after so many windows, whatever is left. */
const mostWindows = 40;

export function* searchJoint(context: PolicyContext): Search<Setting> {
  const { limits } = context;
  const threads = defaultThreads(limits);
  const { approach }: Profile = yield* profile(context);
  const searches = [
    () => searchBatch(context, { instances: 1, threads }),
    () => searchInstances(context, threads),
  ];
  for (const search of approach === 'batching' ? searches : searches.toReversed()) yield* search();
  yield* searchBoth(context, threads);
  for (const other of limits.threads.slice(1)) {
    const one = { batch: 1, instances: 1, threads: other };
    yield* knownOrMeasured(context, one, `Trying instances of ${other} threads.`);
    yield* searchBoth(context, other);
  }
  return chosen(context) ?? { batch: 1, instances: 1, threads };
}

/**
 * The highest throughput within the objective, or else what comes nearest. Of those that differ by noise only the one
 * with the lowest latency: the one that was measured best was lucky.
 */
function chosen({ measurements, objective }: PolicyContext): Setting | undefined {
  const limitMs = objective.p95Ms;
  const best = measurements.bestWithin(searchMargin * limitMs) ?? measurements.bestWithin(limitMs);
  if (best === undefined) return measurements.fastest()?.setting;
  return measurements.all
    .filter(
      ({ assumed, p95Ms, throughput }) =>
        !assumed && p95Ms <= best.p95Ms && equal * throughput >= best.throughput,
    )
    .reduce((a, b) => (b.p95Ms < a.p95Ms ? b : a), best).setting;
}

/** Both knobs, with so many threads per instance. */
function* searchBoth(context: PolicyContext, threads: number): Search<void> {
  for (let windows = 0; windows < mostWindows; windows++) {
    const next = mostPromising(context, threads) ?? openNeighbour(context, threads);
    if (next === null) return;
    yield* knownOrMeasured(context, next.setting, next.reason);
  }
}

interface Next {
  readonly setting: Setting;
  readonly reason: string;
}

/** Of all settings in reach the one that should serve most, if that is noticeably more than the best so far. */
function mostPromising(context: PolicyContext, threads: number): Next | null {
  const { measurements, objective } = context;
  const target = searchMargin * objective.p95Ms;
  const best = measurements.bestWithin(target, threads);
  const reach = reachOf(context, threads);
  let most = worthwhileGain * (best?.throughput ?? 0);
  let promising: Setting | null = null;
  for (let instances = 1; instances <= reach.instances; instances++) {
    for (let batch = 1; batch <= Math.min(reach.batch, reach.items / instances); batch++) {
      const setting = { batch, instances, threads };
      const bounds = measurements.bounds(setting);
      if (bounds === undefined || measurements.known(setting) !== undefined) continue;
      const expectedMs = bounds.low ** hope * bounds.high ** (1 - hope);
      const throughput = throughputAt(context, setting, expectedMs, best);
      if (expectedMs > target || throughput <= most) continue;
      most = throughput;
      promising = setting;
    }
  }
  if (promising === null) return null;
  return {
    setting: promising,
    reason: `Both knobs: about ${Math.round(most)} items per second look possible.`,
  };
}

/** Of a setting with this p95, if its mean lies as far below as that of the best so far, and both knobs bear it. */
function throughputAt(
  { measurements }: PolicyContext,
  setting: Setting,
  p95Ms: number,
  best: Measured | undefined,
): number {
  const items = setting.batch * setting.instances;
  if (best === undefined) return (1000 * items) / p95Ms;
  const bestItems = best.setting.batch * best.setting.instances;
  return Math.min(
    best.throughput * (items / bestItems) * (best.p95Ms / p95Ms),
    jointThroughput(measurements, setting),
  );
}

/** Beside the best so far, a setting that could keep the objective and be noticeably better if all goes well. */
function openNeighbour(context: PolicyContext, threads: number): Next | null {
  const { measurements, limits, objective } = context;
  const target = searchMargin * objective.p95Ms;
  const best = measurements.bestWithin(target, threads);
  if (best === undefined) return null;
  const { batch, instances } = best.setting;
  const counts = [instances - 1, instances + 1, Math.round(instances / 2), 2 * instances];
  const neighbours = [
    { batch: batch + Math.ceil(batch / 10), instances, threads },
    ...counts.flatMap((count) => [
      { batch, instances: count, threads },
      // As many items under way, in more or fewer batches.
      { batch: Math.round((batch * instances) / count), instances: count, threads },
    ]),
  ];
  const setting = neighbours.find((neighbour) => {
    const isPossible =
      neighbour.batch >= 1 &&
      neighbour.batch <= limits.maxBatch &&
      neighbour.instances >= 1 &&
      neighbour.instances <= limits.maxInstances;
    if (!isPossible || measurements.known(neighbour) !== undefined) return false;
    const lowMs = measurements.bounds(neighbour)?.low ?? 0;
    return (
      lowMs <= target && throughputAt(context, neighbour, lowMs, best) > worthwhileGain * best.throughput
    );
  });
  return setting === undefined ? null : { setting, reason: 'Both knobs: a step aside of the best so far.' };
}

/** No further from what was borne so far, with so many threads, than one step may go; `items` is for both knobs together. */
function reachOf({ measurements, limits, objective }: PolicyContext, threads: number) {
  const borne = measurements.all.filter(
    ({ setting, assumed, p95Ms }) => setting.threads === threads && !assumed && p95Ms <= objective.p95Ms,
  );
  const most = (value: (setting: Setting) => number) =>
    Math.max(1, ...borne.map(({ setting }) => value(setting)));
  return {
    batch: highestStep(
      most(({ batch }) => batch),
      limits.maxBatch,
    ),
    instances: highestStep(
      most(({ instances }) => instances),
      limits.maxInstances,
    ),
    items: 4 * most(({ batch, instances }) => batch * instances),
  };
}
