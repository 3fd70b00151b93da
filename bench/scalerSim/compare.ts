/** All policies on one curve under one objective: throughput within it, against what an exhaustive search would find. */
import { seededRandom } from '../../tests/support/random.ts';
import type { PolicyName } from '../../web/scaler/policies.ts';
import type { Setting } from '../../web/scaler/setting.ts';
import type { CurveCase } from './curves.ts';
import { allSettings, bestSetting, trueSetting } from './exhaustive.ts';
import { convergence, judge, simulate } from './simulate.ts';

export const compareNoise = 0.02;
const policies = ['joint', 'profiled', 'batching', 'instances', 'clipper'] as const;
/** Clipper has no end of its search: from here on it is judged. */
const clipperWindows = 30;

export interface PolicyResult {
  readonly setting: Setting;
  readonly windowsToConverge: number;
  readonly violations: number;
  /** Items per second that took no longer than the objective. */
  readonly throughputWithin: number;
  readonly throughput: number;
  readonly p95Share: number;
}

export interface Compared {
  readonly name: string;
  readonly p95Ms: number;
  readonly best: { readonly setting: Setting; readonly throughput: number; readonly keeps: boolean };
  /** The single knob with the higher true throughput within the objective; `either` within 2 %. */
  readonly rightApproach: 'batching' | 'instances' | 'either';
  readonly profiledApproach: 'batching' | 'instances' | 'neither';
  readonly policies: Readonly<Record<PolicyName, PolicyResult>>;
  /** 1 - true throughput of the setting joint ended at / the best; of what it served in fact. */
  readonly regret: number;
  readonly servedRegret: number;
  /** Throughput of joint within the objective / the highest of batching, instances and Clipper. */
  readonly jointOverBest: number;
}

export async function compare(curveCase: CurveCase, p95Ms: number, seed: number): Promise<Compared> {
  const { curve, limits, name } = curveCase;
  const settings = allSettings(curve, limits, compareNoise);
  const best = bestSetting(settings, p95Ms);
  const results = {} as Record<PolicyName, PolicyResult>;
  for (const policy of policies) results[policy] = await measurePolicy(curveCase, p95Ms, policy, seed);
  const single = (knob: 'batch' | 'instances') =>
    bestSetting(
      settings.filter(({ setting }) => setting[knob] === 1 && setting.threads === limits.threads[0]),
      p95Ms,
    );
  const [byInstances, byBatch] = [single('batch'), single('instances')];
  const ratio = byInstances.throughput / byBatch.throughput;
  const joint = results.joint;
  const { instances, batch } = results.profiled.setting;
  const others = [results.batching, results.instances, results.clipper].map((r) => r.throughputWithin);
  return {
    name,
    p95Ms,
    best: { setting: best.setting, throughput: best.throughput, keeps: best.keeps },
    rightApproach: ratio > 1.02 ? 'instances' : ratio < 1 / 1.02 ? 'batching' : 'either',
    profiledApproach: instances > 1 ? 'instances' : batch > 1 ? 'batching' : 'neither',
    policies: results,
    regret: 1 - trueSetting(curve, joint.setting, compareNoise).throughput / best.throughput,
    servedRegret: 1 - joint.throughputWithin / best.throughput,
    jointOverBest: joint.throughputWithin / Math.max(...others),
  };
}

async function measurePolicy(
  { curve, limits }: CurveCase,
  p95Ms: number,
  policy: PolicyName,
  seed: number,
): Promise<PolicyResult> {
  const result = await simulate({
    curve,
    limits,
    p95Ms,
    policy,
    random: seededRandom(seed),
    noise: compareNoise,
    windows: 250,
    outstanding: 2 * limits.maxBatch * limits.maxInstances,
  });
  const burnIn = result.decisions.filter(({ report }) => report !== null)[clipperWindows];
  const held =
    policy === 'clipper'
      ? { windows: clipperWindows, at: burnIn?.at ?? result.endedAt }
      : convergence(result);
  const judged = judge(result.served, p95Ms, held.at, result.endedAt);
  const { violations, throughput, throughputWithin, p95Share } = judged;
  return {
    setting: result.setting,
    windowsToConverge: held.windows,
    violations,
    throughputWithin,
    throughput,
    p95Share,
  };
}
