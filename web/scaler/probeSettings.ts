/** The three settings that a profile would measure, had it the time: (1, 1), (many, 1), (1, many). */
import { probeInstances } from './latencyEstimate.ts';
import { defaultThreads } from './policyContext.ts';
import type { ScalerLimits, Setting } from './setting.ts';

const largestProbeBatch = 16;

/** Never the maximum, so that a device that cannot bear it is not asked to. */
export function probeSettings(limits: ScalerLimits): Record<'one' | 'batch' | 'instances', Setting> {
  const threads = defaultThreads(limits);
  return {
    one: { batch: 1, instances: 1, threads },
    batch: { batch: Math.min(belowMax(limits.maxBatch), largestProbeBatch), instances: 1, threads },
    instances: { batch: 1, instances: Math.min(belowMax(limits.maxInstances), probeInstances), threads },
  };
}

/** Half the maximum, but one at least, and two where two are allowed. */
function belowMax(max: number): number {
  if (max <= 2) return max;
  return max > probeInstances ? Math.max(probeInstances, Math.floor(max / 2)) : Math.max(2, max - 1);
}
