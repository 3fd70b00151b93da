/**
 * Turns both knobs, and the threads of an instance where there is a choice. Both single searches come first, so that
 * the result is never worse than the better of them; then the settings that the measurements leave room for, most
 * promising first, until none is left that could be noticeably better.
 */
import { searchBatch } from './batchScaler.ts';
import {
  defaultThreads,
  highestStep,
  knownOrMeasured,
  type PolicyContext,
  searchMargin,
} from './policyContext.ts';
import { type Profile, profile } from './profiler.ts';
import type { Search, Setting } from './setting.ts';
import { searchInstances } from './tenancyScaler.ts';

/** A setting must promise so much more throughput to be worth a window. */
const worthwhileGain = 1.02;
/** Each search ends after so many windows, whatever is left. */
const mostWindows = 40;

export function* searchJoint(context: PolicyContext): Search<Setting> {
  const { measurements, limits } = context;
  const threads = defaultThreads(limits);
  const { approach }: Profile = yield* profile(context);
  const searches = [
    () => searchBatch(context, { instances: 1, threads }),
    () => searchInstances(context, threads),
  ];
  for (const search of approach === 'batching' ? searches : searches.toReversed()) yield* search();
  for (const other of limits.threads.slice(1)) {
    const one = { batch: 1, instances: 1, threads: other };
    yield* knownOrMeasured(context, one, `Trying instances of ${other} threads.`);
  }
  for (let windows = 0; windows < mostWindows; windows++) {
    const promising = mostPromising(context);
    if (promising === null) break;
    const reason = `Both knobs: up to ${Math.round(promising.throughput)} items per second look possible.`;
    yield* knownOrMeasured(context, promising.setting, reason);
  }
  const target = searchMargin * context.objective.p95Ms;
  const best =
    measurements.bestWithin(target) ??
    measurements.bestWithin(context.objective.p95Ms) ??
    measurements.fastest();
  return best?.setting ?? { batch: 1, instances: 1, threads };
}

function mostPromising(
  context: PolicyContext,
): { readonly setting: Setting; readonly throughput: number } | null {
  const { measurements, limits, objective } = context;
  const target = searchMargin * objective.p95Ms;
  const best = measurements.bestWithin(target);
  const reach = reachOf(context);
  let promising: { setting: Setting; throughput: number } | null = null;
  for (const threads of limits.threads) {
    for (let instances = 1; instances <= reach.instances; instances++) {
      for (let batch = 1; batch <= reach.batch; batch++) {
        const setting = { batch, instances, threads };
        const bounds = measurements.bounds(setting);
        // Half way between hope and fear: neither all that cannot be excluded is tried, nor only what is certain.
        const expectedMs = bounds === undefined ? Number.NaN : Math.sqrt(bounds.low * bounds.high);
        if (!(expectedMs <= target) || measurements.known(setting) !== undefined) continue;
        const throughput = (1000 * batch * instances) / expectedMs;
        if (throughput > (promising?.throughput ?? worthwhileGain * (best?.throughput ?? 0))) {
          promising = { setting, throughput };
        }
      }
    }
  }
  return promising;
}

/** No further from what was borne so far than one step may go. */
function reachOf({ measurements, limits, objective }: PolicyContext): Omit<Setting, 'threads'> {
  const borne = measurements.all.filter(({ assumed, p95Ms }) => !assumed && p95Ms <= objective.p95Ms);
  const most = (knob: 'batch' | 'instances') => Math.max(1, ...borne.map(({ setting }) => setting[knob]));
  return {
    batch: highestStep(most('batch'), limits.maxBatch),
    instances: highestStep(most('instances'), limits.maxInstances),
  };
}
