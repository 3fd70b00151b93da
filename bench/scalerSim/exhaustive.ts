/** What an exhaustive search over all settings would find, from the curve itself and the known noise. */
import type { ScalerLimits, Setting } from '../../web/scaler/setting.ts';
import type { LatencyCurve } from '../../web/scaler/testing/simulatedPool.ts';

export interface TrueSetting {
  readonly setting: Setting;
  readonly p95Ms: number;
  /** Items per second with runs always waiting. */
  readonly throughput: number;
}

/** The 95th percentile of a standard normal variable. */
const normal95 = 1.6449;

export function trueSetting(curve: LatencyCurve, setting: Setting, noise: number): TrueSetting {
  const { batch, instances, threads } = setting;
  const medianMs = curve(batch, instances, threads);
  const meanMs = medianMs * Math.exp(noise ** 2 / 2);
  return {
    setting,
    p95Ms: medianMs * Math.exp(normal95 * noise),
    throughput: (1000 * batch * instances) / meanMs,
  };
}

export function allSettings(curve: LatencyCurve, limits: ScalerLimits, noise: number): TrueSetting[] {
  const all: TrueSetting[] = [];
  for (const threads of limits.threads) {
    for (let instances = 1; instances <= limits.maxInstances; instances++) {
      for (let batch = 1; batch <= limits.maxBatch; batch++) {
        all.push(trueSetting(curve, { batch, instances, threads }, noise));
      }
    }
  }
  return all;
}

/** The highest throughput within the objective; the lowest latency where nothing is within it. */
export function bestSetting(
  settings: readonly TrueSetting[],
  p95Ms: number,
): TrueSetting & { readonly keeps: boolean } {
  const within = settings.filter((setting) => setting.p95Ms <= p95Ms);
  const [first, ...rest] = within.length > 0 ? within : settings;
  if (first === undefined) throw new Error('No settings.');
  const isBetter = (a: TrueSetting, b: TrueSetting) =>
    within.length > 0 ? a.throughput > b.throughput : a.p95Ms < b.p95Ms;
  return {
    ...rest.reduce((best, next) => (isBetter(next, best) ? next : best), first),
    keeps: within.length > 0,
  };
}
