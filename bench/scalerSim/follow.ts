/** Whether the scaler follows what changes while it runs: the objective, the speed of the devices, the load. */
import { seededRandom } from '../../graph/random.ts';
import type { PolicyName } from '../../web/scaler/policies.ts';
import type { LatencyCurve } from '../../web/scaler/testing/simulatedPool.ts';
import { gpuCurve, linkCurve } from './curves.ts';
import { allSettings, bestSetting, trueSetting } from './exhaustive.ts';
import { judge, type SimulationResult, simulate } from './simulate.ts';

export interface Followed {
  readonly name: string;
  readonly policy: PolicyName;
  readonly steps: readonly FollowedStep[];
}

export interface FollowedStep {
  readonly change: string;
  /** Windows until the setting was found that was then held. */
  readonly windows: number;
  /** Share of missed windows after that. */
  readonly violations: number;
  /** Against the best setting of what the policy may turn; null where the load does not fill it. */
  readonly regret: number | null;
}

const noise = 0.02;
const limits = { maxBatch: 32, maxInstances: 8, threads: [1] } as const;
const segmentWindows = 150;

interface Step {
  readonly change: string;
  readonly p95Ms: number;
  readonly slower: number;
  readonly outstanding: number;
}

const full = 512;
const steps: readonly Step[] = [
  { change: 'start', p95Ms: 4, slower: 1, outstanding: full },
  { change: 'objective halved', p95Ms: 2, slower: 1, outstanding: full },
  { change: 'objective tripled', p95Ms: 6, slower: 1, outstanding: full },
  { change: 'devices 1.5 times as slow', p95Ms: 6, slower: 1.5, outstanding: full },
  { change: 'devices as fast as before', p95Ms: 6, slower: 1, outstanding: full },
  { change: 'devices three times as slow', p95Ms: 6, slower: 3, outstanding: full },
  { change: 'load falls to one run at a time', p95Ms: 6, slower: 3, outstanding: 1 },
  { change: 'load is back', p95Ms: 6, slower: 3, outstanding: full },
];

export async function followAll(): Promise<Followed[]> {
  const cases: readonly (readonly [string, LatencyCurve])[] = [
    ['GPU 20 + 0.5 b, a tenth busy', gpuCurve(20, 0.5, 0.1)],
    ['GPU 5 + 2 b, half busy', gpuCurve(5, 2, 0.5)],
    ['link 5 ms x 6 rounds, 10 ms compute, 2 ms send', linkCurve(6, 5, 10, 2)],
  ];
  const results: Followed[] = [];
  for (const [name, curve] of cases) {
    for (const policy of ['joint', 'profiled', 'batching', 'instances'] as const) {
      results.push(await follow(name, curve, policy));
    }
  }
  return results;
}

async function follow(name: string, curve: LatencyCurve, policy: PolicyName): Promise<Followed> {
  const one = curve(1, 1, 1);
  const curveOf =
    ({ slower }: Step): LatencyCurve =>
    (items, inFlight, threads) =>
      slower * curve(items, inFlight, threads);
  const result = await simulate({
    curve,
    limits,
    p95Ms: (steps[0]?.p95Ms ?? 1) * one,
    policy,
    random: seededRandom(7),
    noise,
    windows: steps.length * segmentWindows,
    outstanding: full,
    changes: steps.slice(1).map((step, i) => ({
      atWindow: (i + 1) * segmentWindows,
      p95Ms: step.p95Ms * one,
      curve: curveOf(step),
      outstanding: step.outstanding,
    })),
  });
  const starts = [0, ...result.changedAt];
  return {
    name,
    policy,
    steps: steps.map((step, i) => {
      const [from, to] = [starts[i] ?? 0, starts[i + 1] ?? result.endedAt];
      const found = lastSearch(result, from, to);
      const { violations } = judge(result.served, step.p95Ms * one, found.at, to);
      const allowed = allSettings(curveOf(step), limits, noise).filter(
        ({ setting }) =>
          (policy !== 'batching' || setting.instances === 1) &&
          (policy !== 'instances' || setting.batch === 1),
      );
      const best = bestSetting(allowed, step.p95Ms * one);
      const last = result.decisions.findLast(
        ({ at, phase }) => phase === 'hold' && at > from && at < to,
      )?.setting;
      const isFilled = step.outstanding === full && last !== undefined && policy !== 'profiled';
      const regret = isFilled
        ? 1 - trueSetting(curveOf(step), last, noise).throughput / best.throughput
        : null;
      return { change: step.change, windows: found.windows, violations, regret };
    }),
  };
}

/** The last window of the first half of a segment that was not spent holding: after it the setting was found. */
function lastSearch({ decisions }: SimulationResult, from: number, to: number) {
  const inside = decisions.filter(({ at, report }) => at > from && at <= to && report !== null);
  const early = inside.slice(0, segmentWindows / 2);
  const last = early.findLastIndex(({ phase }) => phase !== 'hold') + 1;
  return { windows: last, at: early[last]?.at ?? from };
}
