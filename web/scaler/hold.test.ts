import { describe, expect, it } from 'vitest';
import { latencyCorrection } from './latencyCorrection.ts';
import { Measurements } from './measurements.ts';
import { createPolicy } from './policies.ts';
import type { Setting } from './setting.ts';

interface Seen {
  readonly p95Ms: number;
  readonly medianMs?: number;
  readonly throughput: number;
  readonly lateShare?: number;
}

/** The settings that joint holds or tries, window by window, where every window is full. */
function settings(windows: number, seen: (setting: Setting, window: number) => Seen): Setting[] {
  const context = {
    limits: { maxBatch: 1, maxInstances: 4, threads: [1] },
    objective: { p95Ms: 100 },
    measurements: new Measurements(),
    correction: latencyCorrection,
    current: { batch: 1, instances: 1, threads: 1 },
  };
  const policy = createPolicy('joint', context);
  let { setting } = policy.next().value;
  const all: Setting[] = [];
  for (let window = 0; window < windows; window++) {
    all.push(setting);
    const { p95Ms, medianMs = p95Ms, throughput, lateShare = 0 } = seen(setting, window);
    const report = {
      setting,
      batches: 20,
      items: 20,
      p95Ms,
      medianMs,
      throughput,
      lateShare,
      saturated: true,
    };
    context.current = setting;
    setting = policy.next(report).value.setting;
  }
  return all;
}

const last = (all: readonly Setting[], windows: number) =>
  all.slice(-windows).map(({ instances }) => instances);

describe('hold', () => {
  it('leaves a setting that had one lucky window for the one that serves more in the mean', () => {
    let tries = 0;
    const all = settings(60, ({ instances }) => {
      if (instances === 4) return { p95Ms: 40, throughput: tries++ === 0 ? 112 : 92 };
      return { p95Ms: 10 * instances, throughput: Math.min(100, 50 * instances) };
    });
    expect(all.map(({ instances }) => instances)).toContain(4);
    expect(last(all, 20)).toEqual(Array.from({ length: 20 }, () => 3));
  });

  it('goes back to what once served more when a bad moment is over', () => {
    const all = settings(120, ({ instances }, window) => {
      const isBad = window >= 40 && window < 60;
      const slow = isBad && instances > 1 ? 2.2 : 1;
      if (instances > 2) return { p95Ms: 130 * slow, throughput: 100 / slow, lateShare: 1 };
      return { p95Ms: 20 * instances * slow, throughput: (50 * instances) / slow };
    });
    expect(last(all.slice(0, 60), 10)).toContain(1);
    expect(last(all, 20)).toEqual(Array.from({ length: 20 }, () => 2));
  });

  it('takes a setting that is late in few enough runs over some windows, though one had too many', () => {
    let tries = 0;
    const all = settings(60, ({ instances }) => {
      const isLate = instances === 4 && tries++ % 3 === 0;
      const usual = { p95Ms: 10 + 5 * instances, throughput: 50 * instances };
      return isLate ? { ...usual, p95Ms: 180, medianMs: 20, lateShare: 0.1 } : usual;
    });
    expect(last(all, 20)).toEqual(Array.from({ length: 20 }, () => 4));
  });
});
