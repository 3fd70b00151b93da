/**
 * Replays the measured instance latencies (batch 1): which number of instances the tenancy scaler ends at, under
 * three objectives, with an estimator that never saw the network.
 */

import { seededRandom } from '../../graph/random.ts';
import type { LatencyCorrection } from '../../web/scaler/latencyEstimate.ts';
import type { LatencyCurve } from '../../web/scaler/testing/simulatedPool.ts';
import { allSettings, bestSetting } from './exhaustive.ts';
import type { InstanceLatencies } from './instanceLatencies.ts';
import { convergence, judge, simulate } from './simulate.ts';

const replayLimits = { maxBatch: 1, maxInstances: 10, threads: [1] } as const;
const replayNoise = 0.02;

function replayedCurve({ latencyMs }: InstanceLatencies): LatencyCurve {
  return (items, inFlight) => items * (latencyMs[Math.min(inFlight, latencyMs.length) - 1] ?? Number.NaN);
}

export interface Replayed {
  readonly name: string;
  readonly sloShare: number;
  readonly chosen: number;
  /** The largest number that keeps the objective, and the one with the highest throughput of those. */
  readonly largest: number;
  readonly fastest: number;
  /** False where no number keeps the objective: then both are the one with the lowest latency. */
  readonly reachable: boolean;
  readonly windowsToConverge: number;
  readonly violations: number;
  readonly windows: number;
}

export async function replay(
  network: InstanceLatencies,
  sloShare: number,
  correction: LatencyCorrection,
  seed: number,
  windows: number,
): Promise<Replayed> {
  const curve = replayedCurve(network);
  const noiseP95 = Math.exp(1.6449 * replayNoise);
  // The table holds what their authors measured as latency; the objective is on the p95 that the noise makes of it.
  const p95Ms = sloShare * (network.latencyMs[9] ?? Number.NaN) * noiseP95;
  const result = await simulate({
    curve,
    limits: replayLimits,
    p95Ms,
    policy: 'instances',
    correction,
    random: seededRandom(seed),
    noise: replayNoise,
    windows,
    outstanding: 40,
  });
  const settings = allSettings(curve, replayLimits, replayNoise);
  const best = bestSetting(settings, p95Ms);
  const largest = settings.findLast((setting) => setting.p95Ms <= p95Ms) ?? best;
  const held = convergence(result);
  const judged = judge(result.served, p95Ms, held.at, result.endedAt);
  return {
    name: network.name,
    sloShare,
    chosen: result.setting.instances,
    largest: largest.setting.instances,
    fastest: best.setting.instances,
    reachable: best.keeps,
    windowsToConverge: held.windows,
    violations: judged.violations,
    windows: judged.windows,
  };
}
