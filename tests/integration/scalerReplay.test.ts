/**
 * The scaler against measurements of others and against exhaustive search, in virtual time: a slice of what
 * `npm run bench:scaler-sim` reports.
 */
import { describe, expect, it } from 'vitest';
import { compare } from '../../bench/scalerSim/compare.ts';
import { curveCases } from '../../bench/scalerSim/curves.ts';
import { fitCorrection } from '../../bench/scalerSim/fitCorrection.ts';
import { missingLatencies, readInstanceLatencies } from '../../bench/scalerSim/instanceLatencies.ts';
import { estimatorReport, replayReport } from '../../bench/scalerSim/replayReport.ts';
import { limits } from '../../protocol/limits.ts';
import { latencyCorrection } from '../../web/scaler/latencyCorrection.ts';

const networks = readInstanceLatencies();
if (networks === null) console.warn(missingLatencies);

describe.skipIf(networks === null)('on the measured latencies of DNNScaler', () => {
  const measured = networks ?? [];

  it('estimates a network it has not seen within 9 %', () => {
    const report = estimatorReport(measured);
    expect(report.bounded).toBeCloseTo(0.113, 3);
    expect(report.leaveOneOut).toBeLessThan(0.07);
    expect(report.leaveNetworkOut).toBeLessThan(0.07);
  });

  it('ships the constants that the script derives', () => {
    expect(latencyCorrection).toEqual(fitCorrection(measured));
  });

  it('ends within one step of the best for 16 of 18 networks under each objective', {
    timeout: 240_000,
  }, async () => {
    const replays = await replayReport(measured, 60);
    for (const share of [0.5, 0.75, 0.9]) {
      const near = replays.filter((r) => r.sloShare === share && Math.abs(r.chosen - r.largest) <= 1);
      expect(near.length).toBeGreaterThanOrEqual(16);
    }
    const reachable = replays.filter((r) => r.reachable);
    const windows = reachable.reduce((sum, r) => sum + r.windows, 0);
    const missed = reachable.reduce((sum, r) => sum + r.windows * r.violations, 0);
    expect(missed / windows).toBeLessThan(0.01);
  });
});

describe('on latency curves', () => {
  it.each([
    ['GPU 20 + 0.5 b, a tenth busy', 0],
    ['GPU 5 + 2 b, half busy', 1],
    ['link 40 ms x 4 rounds, 2 ms compute, 8 ms send', 0],
    ['slow: 320 b, two devices', 1],
  ] as const)('joint on %s loses at most 5 %% to an exhaustive search', async (name, objective) => {
    const curveCase = curveCases().find((one) => one.name === name);
    if (curveCase === undefined) throw new Error(`No curve ${name}.`);
    const result = await compare(curveCase, curveCase.objectives[objective] ?? 0, [1]);
    expect(result.profileMs).toBeLessThanOrEqual(limits.profileMs);
    expect(result.regret).toBeLessThanOrEqual(0.05);
    expect(result.jointOverBest).toBeGreaterThan(0.99);
    expect(result.policies.joint.violations).toBeLessThan(0.02);
  });
});
