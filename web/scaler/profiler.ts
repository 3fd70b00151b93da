/**
 * Finds out whether batching or instances pay, from short windows: (1, 1), (many, 1), (1, many), with as many as the
 * time allows; what lies beyond is extrapolated.
 */
import { limits as named } from '../../protocol/limits.ts';
import { estimateLatency } from './latencyEstimate.ts';
import type { Measured } from './measurements.ts';
import { type PolicyContext, searchMargin } from './policyContext.ts';
import { probeSettings } from './probeSettings.ts';
import { probe, probeUpwards, TimeBudget } from './probeUpwards.ts';
import type { Search } from './setting.ts';

export interface Profile {
  readonly approach: 'batching' | 'instances';
  /** Throughput within the objective over that of (1, 1), as the probes promise it. */
  readonly batchingGain: number;
  readonly instancesGain: number;
}

/** The rest is for batches that are under way when instances are made. */
const planned = 0.9;

/** In two seconds of traffic, whatever a run takes; in one run where that is longer. */
export function* profile(context: PolicyContext): Search<Profile> {
  const budget = new TimeBudget(planned * named.profileMs);
  const settings = probeSettings(context.limits);
  const one = yield* probe(
    context,
    settings.one,
    'Profiling: one run at a time.',
    budget,
    named.profileMs / 4,
  );
  // What batches do not need of their half is left to instances.
  const half = new TimeBudget(budget.leftMs / 2);
  const batch = yield* probeUpwards(context, 'batch', one, half);
  const rest = new TimeBudget(budget.leftMs / 2 + half.leftMs);
  const many = yield* probeUpwards(context, 'instances', one, rest);
  const batchingGain = batchThroughput(context, one, batch) / one.throughput;
  const instancesGain = instanceThroughput(context, one, many) / one.throughput;
  return {
    approach: instancesGain > batchingGain ? 'instances' : 'batching',
    batchingGain,
    instancesGain,
  };
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
