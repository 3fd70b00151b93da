import { describe, expect, it } from 'vitest';
import { latencyCorrection } from './latencyCorrection.ts';
import { Measurements } from './measurements.ts';
import { createPolicy, type PolicyChoice } from './policies.ts';
import type { Proposal, ScalerLimits, Setting } from './setting.ts';

type Curve = (setting: Setting) => number;

/** The first `windows` proposals of a policy whose every window is full and without noise. */
function proposals(
  choice: PolicyChoice,
  curve: Curve,
  p95Ms: number,
  limits: Partial<ScalerLimits> = {},
  windows = 60,
): Proposal[] {
  const context = {
    limits: { maxBatch: 32, maxInstances: 8, threads: [1], ...limits },
    objective: { p95Ms },
    measurements: new Measurements(),
    correction: latencyCorrection,
    current: { batch: 1, instances: 1, threads: 1 },
  };
  const policy = createPolicy(choice, context);
  let proposal: Proposal = policy.next().value;
  const all = [proposal];
  while (all.length < windows) {
    const { setting } = proposal;
    const ms = curve(setting);
    const items = 20 * setting.batch;
    const throughput = (1000 * setting.batch * setting.instances) / ms;
    const lateShare = ms > p95Ms ? 1 : 0;
    const report = {
      setting,
      batches: 20,
      items,
      p95Ms: ms,
      medianMs: ms,
      lateShare,
      throughput,
      saturated: true,
    };
    context.current = setting;
    proposal = policy.next(report).value;
    all.push(proposal);
  }
  return all;
}

const gpu: Curve = ({ batch, instances }) => Math.max(10 + 2 * batch, instances * (2 + 2 * batch));
const adaptive = ['joint', 'profiled', 'batching', 'instances'] as const;

describe('policies', () => {
  it.each([...adaptive, 'clipper'] as const)('%s keeps to limits of one', (choice) => {
    for (const limits of [{ maxBatch: 1 }, { maxInstances: 1 }, { maxBatch: 1, maxInstances: 1 }]) {
      for (const p95Ms of [5, 20, 1000]) {
        for (const { setting } of proposals(choice, gpu, p95Ms, limits)) {
          expect(setting.batch).toBeLessThanOrEqual(limits.maxBatch ?? 32);
          expect(setting.instances).toBeLessThanOrEqual(limits.maxInstances ?? 8);
          expect(setting.batch).toBeGreaterThanOrEqual(1);
          expect(setting.instances).toBeGreaterThanOrEqual(1);
        }
      }
    }
  });

  it.each(adaptive)('%s never goes from 1 to the maximum in one step', (choice) => {
    for (const limits of [{}, { maxBatch: 4, maxInstances: 4 }, { maxBatch: 16, maxInstances: 3 }]) {
      for (const p95Ms of [15, 30, 80, 1e6]) {
        const all = proposals(choice, gpu, p95Ms, limits).map(({ setting }) => setting);
        for (const knob of ['batch', 'instances'] as const) {
          const max = { batch: limits.maxBatch ?? 32, instances: limits.maxInstances ?? 8 }[knob];
          const first = all.findIndex((setting) => setting[knob] === max);
          if (first < 0) continue;
          // Something between was borne before.
          const before = all.slice(0, first).map((setting) => setting[knob]);
          expect(Math.max(...before)).toBeGreaterThan(1);
        }
      }
    }
  });

  it.each([20, 35, 70])('batching ends in the band below %i ms', (p95Ms) => {
    const last = proposals('batching', gpu, p95Ms).at(-1);
    const ms = gpu(last?.setting ?? { batch: 0, instances: 0, threads: 1 });
    expect(last?.phase).toBe('hold');
    expect(ms).toBeLessThanOrEqual(p95Ms);
    expect(ms).toBeGreaterThanOrEqual(0.85 * p95Ms);
  });

  it('profiled takes the knob that pays', () => {
    const batchPays: Curve = ({ batch, instances }) => instances * (20 + 0.5 * batch);
    const instancesPay: Curve = ({ batch, instances }) => 20 * batch * Math.max(1, instances / 6);
    expect(proposals('profiled', batchPays, 60).at(-1)?.setting).toMatchObject({ batch: 32, instances: 1 });
    expect(proposals('profiled', instancesPay, 25).at(-1)?.setting).toMatchObject({ batch: 1, instances: 7 });
  });

  it('clipper adds four and takes a tenth away', () => {
    const linear: Curve = ({ batch }) => 10 * batch;
    const batches = proposals('clipper', linear, 100, {}, 8).map(({ setting }) => setting.batch);
    expect(batches).toEqual([1, 5, 9, 13, 11, 9, 13, 11]);
  });

  it('fixed stays, within the limits', () => {
    const fixed = { fixed: { batch: 64, instances: 2 } };
    for (const { setting } of proposals(fixed, gpu, 1))
      expect(setting).toMatchObject({ batch: 32, instances: 2 });
  });

  it('tries threads as a third knob where there is a choice', () => {
    const cores: Curve = ({ batch, instances, threads }) =>
      ((20 * batch) / threads ** 0.8) * Math.max(1, (instances * threads) / 4);
    const last = proposals('joint', cores, 12, { threads: [1, 2, 4] }).at(-1)?.setting;
    expect(last?.threads).toBeGreaterThan(1);
    expect(cores(last ?? { batch: 1, instances: 1, threads: 1 })).toBeLessThanOrEqual(12);
  });

  it('says that nothing keeps an objective below the fastest setting, and takes that one', () => {
    const last = proposals('joint', gpu, 5).at(-1);
    expect(last?.setting).toMatchObject({ batch: 1, instances: 1 });
    expect(last?.reason).toContain('Nothing keeps 5 ms');
  });
});
