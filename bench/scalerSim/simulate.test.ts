/** What the scaler finds in virtual time where the machine is not always itself. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../graph/random.ts';
import type { LatencyCurve, Pauses } from '../../web/scaler/testing/simulatedPool.ts';
import { gpuCurve, linkCurve } from './curves.ts';
import { trueSetting } from './exhaustive.ts';
import { simulate } from './simulate.ts';

const limits = { maxBatch: 32, maxInstances: 4, threads: [1] };

/** Items per second of the setting that `joint` ends with, by the curve itself. */
async function found(curve: LatencyCurve, p95Ms: number, seed: number, pauses?: Pauses): Promise<number> {
  const { setting } = await simulate({
    curve,
    limits,
    p95Ms,
    policy: 'joint',
    random: seededRandom(seed),
    noise: 0.05,
    windows: 120,
    outstanding: 256,
    ...(pauses === undefined ? {} : { pauses }),
  });
  return trueSetting(curve, setting, 0).throughput;
}

describe('joint', () => {
  const curves = { device: gpuCurve(2, 1, 0.3), link: linkCurve(8, 3, 0.5, 0.2) };

  it.each(Object.entries(curves))('is not talked out of its setting by pauses: %s', async (_name, curve) => {
    const p95Ms = 5 * curve(1, 1, 1);
    for (const seed of [1, 2, 3]) {
      const calm = await found(curve, p95Ms, seed);
      // Two in a hundred moments, and each longer than the objective.
      const disturbed = await found(curve, p95Ms, seed, { everyMs: 60 * p95Ms, ms: 1.2 * p95Ms });
      expect(disturbed).toBeGreaterThan(0.9 * calm);
    }
  });
});
