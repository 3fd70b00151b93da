/** All policies on one curve under one objective: throughput within it, against what an exhaustive search would find. */
import { seededRandom } from '../../graph/random.ts';
import type { PolicyName } from '../../web/scaler/policies.ts';
import type { Setting } from '../../web/scaler/setting.ts';
import type { CurveCase } from './curves.ts';
import { allSettings, bestSetting, trueSetting } from './exhaustive.ts';
import { convergence, judge, simulate } from './simulate.ts';

const compareNoise = 0.02;
const policies = ['joint', 'profiled', 'batching', 'instances', 'clipper'] as const;
/** Clipper has no end of its search: from here on it is judged. */
const clipperWindows = 30;

export interface PolicyResult {
  readonly setting: Setting;
  readonly windowsToConverge: number;
  /** Until the first setting that was no probe. */
  readonly profileMs: number;
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
  /** Traffic of joint's profile, in milliseconds. */
  readonly profileMs: number;
  /** Mean throughput of joint within the objective / the highest of batching, instances and Clipper. */
  readonly jointOverBest: number;
  /** Standard error of that ratio, from the runs of each policy. */
  readonly jointOverBestError: number;
}

/** `seeds` runs of each policy; what is told of a policy beside its mean throughput is of its first run. */
export async function compare(
  curveCase: CurveCase,
  p95Ms: number,
  seeds: readonly number[],
): Promise<Compared> {
  const { curve, limits, name } = curveCase;
  const settings = allSettings(curve, limits, compareNoise);
  const best = bestSetting(settings, p95Ms);
  const results = {} as Record<PolicyName, PolicyResult>;
  const within = {} as Record<PolicyName, Estimate>;
  for (const policy of policies) {
    const runs: PolicyResult[] = [];
    for (const seed of seeds) runs.push(await measurePolicy(curveCase, p95Ms, policy, seed));
    const [first] = runs;
    if (first === undefined) throw new Error('Expected one seed at least.');
    within[policy] = estimate(runs.map(({ throughputWithin }) => throughputWithin));
    results[policy] = { ...first, throughputWithin: within[policy].mean };
  }
  const single = (knob: 'batch' | 'instances') =>
    bestSetting(
      settings.filter(({ setting }) => setting[knob] === 1 && setting.threads === limits.threads[0]),
      p95Ms,
    );
  const [byInstances, byBatch] = [single('batch'), single('instances')];
  const ratio = byInstances.throughput / byBatch.throughput;
  const joint = results.joint;
  const { instances, batch } = results.profiled.setting;
  const other = [within.batching, within.instances, within.clipper].reduce((a, b) =>
    a.mean >= b.mean ? a : b,
  );
  const jointOverBest = within.joint.mean / other.mean;
  return {
    name,
    p95Ms,
    best: { setting: best.setting, throughput: best.throughput, keeps: best.keeps },
    rightApproach: ratio > 1.02 ? 'instances' : ratio < 1 / 1.02 ? 'batching' : 'either',
    profiledApproach: instances > 1 ? 'instances' : batch > 1 ? 'batching' : 'neither',
    policies: results,
    regret: 1 - trueSetting(curve, joint.setting, compareNoise).throughput / best.throughput,
    servedRegret: 1 - joint.throughputWithin / best.throughput,
    profileMs: joint.profileMs,
    jointOverBest,
    jointOverBestError:
      jointOverBest * Math.hypot(within.joint.error / within.joint.mean, other.error / other.mean),
  };
}

interface Estimate {
  readonly mean: number;
  /** Standard error; 0 with a single value. */
  readonly error: number;
}

function estimate(values: readonly number[]): Estimate {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / Math.max(1, values.length - 1) / values.length) };
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
    profileMs: result.decisions.find(({ phase }) => phase !== 'probe')?.at ?? result.endedAt,
    violations,
    throughputWithin,
    throughput,
    p95Share,
  };
}
