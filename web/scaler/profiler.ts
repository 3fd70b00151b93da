/**
 * Finds out whether batching or instances pay, from three short windows: (1, 1), (many, 1), (1, many). Probes are
 * never the maximum, so that a device that cannot bear it is not asked to.
 */
import { estimateLatency, probeInstances } from './latencyEstimate.ts';
import type { Measured } from './measurements.ts';
import { defaultThreads, measure, type PolicyContext, searchMargin } from './policyContext.ts';
import type { ScalerLimits, Search, Setting } from './setting.ts';

export interface Profile {
  readonly approach: 'batching' | 'instances';
  /** Throughput within the objective over that of (1, 1), as the probes promise it. */
  readonly batchingGain: number;
  readonly instancesGain: number;
}

const largestProbeBatch = 16;

export function probeSettings(limits: ScalerLimits): Record<'one' | 'batch' | 'instances', Setting> {
  const threads = defaultThreads(limits);
  return {
    one: { batch: 1, instances: 1, threads },
    batch: { batch: Math.min(belowMax(limits.maxBatch), largestProbeBatch), instances: 1, threads },
    instances: { batch: 1, instances: Math.min(belowMax(limits.maxInstances), probeInstances), threads },
  };
}

export function* profile(context: PolicyContext): Search<Profile> {
  const settings = probeSettings(context.limits);
  const one = yield* probe(context, settings.one, 'Profiling: one run at a time.');
  const batch = yield* probe(context, settings.batch, `Profiling: batches of ${settings.batch.batch}.`);
  const many = yield* probe(
    context,
    settings.instances,
    `Profiling: ${settings.instances.instances} instances.`,
  );
  const batchingGain = batchThroughput(context, one, batch) / one.throughput;
  const instancesGain = instanceThroughput(context, one, many) / one.throughput;
  return {
    approach: instancesGain > batchingGain ? 'instances' : 'batching',
    batchingGain,
    instancesGain,
  };
}

function* probe(context: PolicyContext, setting: Setting, reason: string): Search<Measured> {
  return context.measurements.known(setting) ?? (yield* measure(context, setting, reason, 'probe'));
}

/** Half the maximum, but one at least, and two where two are allowed. */
function belowMax(max: number): number {
  if (max <= 2) return max;
  return max > probeInstances ? Math.max(probeInstances, Math.floor(max / 2)) : Math.max(2, max - 1);
}

/** The largest batch within the objective, by the line through both probes. */
function batchThroughput({ limits, objective }: PolicyContext, one: Measured, many: Measured): number {
  const size = many.setting.batch;
  if (size === 1) return one.throughput;
  const slope = (many.p95Ms - one.p95Ms) / (size - 1);
  const target = searchMargin * objective.p95Ms;
  const fitting = slope <= 0 ? limits.maxBatch : 1 + (target - one.p95Ms) / slope;
  const batch = Math.floor(Math.min(Math.max(fitting, 1), limits.maxBatch));
  const perBatchMs = (1000 * size) / many.throughput;
  const oneMs = 1000 / one.throughput;
  const expectedMs = oneMs + ((batch - 1) * (perBatchMs - oneMs)) / (size - 1);
  return (1000 * batch) / Math.max(expectedMs, 1e-3);
}

/** The most instances within the objective, by the estimate from both probes. */
function instanceThroughput(
  { limits, objective, correction }: PolicyContext,
  one: Measured,
  many: Measured,
): number {
  const count = many.setting.instances;
  if (count === 1) return one.throughput;
  const probes = { oneMs: one.p95Ms, many: count, manyMs: many.p95Ms };
  let best = 0;
  for (let m = 1; m <= limits.maxInstances; m++) {
    const latency = estimateLatency(probes, m, correction);
    if (latency > searchMargin * objective.p95Ms) continue;
    // The mean latency lies as far below the p95 as it does with one instance.
    best = Math.max(best, (m * one.throughput * one.p95Ms) / latency);
  }
  return best === 0 ? one.throughput : best;
}
