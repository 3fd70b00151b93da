import { describe, expect, it } from 'vitest';
import { limits } from '../../protocol/limits.ts';
import { MeasuringWindow } from './measuringWindow.ts';
import type { Proposal, WindowReport } from './setting.ts';

const proposal = (instances: number, phase: Proposal['phase'] = 'hold'): Proposal => ({
  setting: { batch: 4, instances, threads: 1 },
  reason: '',
  phase,
});
const batch = (serviceMs: number) => ({ items: 4, runs: 4, serviceMs, moreWaited: true });

/** Batches of all instances at once, round after round. */
function fill(window: MeasuringWindow, instances: number, serviceMs: number, limitMs: number): WindowReport {
  for (let round = 1; round < 1000; round++) {
    for (let i = 0; i < instances; i++) {
      const report = window.add(batch(serviceMs), limitMs, round * serviceMs);
      if (report !== null) return report;
    }
  }
  throw new Error('The window never closes.');
}

describe('MeasuringWindow', () => {
  it('leaves warm-up out, of latency and of throughput', () => {
    const window = new MeasuringWindow(proposal(1), 2, 0);
    expect(window.counts(0)).toBe(false);
    window.add(batch(900), 20, 900);
    window.add(batch(900), 20, 1800);
    expect(window.counts(1800)).toBe(true);
    let report: WindowReport | null = null;
    for (let at = 1810; report === null; at += 10) report = window.add(batch(10), 20, at);
    expect(report.p95Ms).toBe(10);
    expect(report.throughput).toBeCloseTo(400);
  });

  it('leaves out what is served before its instances have settled, however much', () => {
    const window = new MeasuringWindow(proposal(1), 1, 0, 500);
    for (let at = 5; at < 500; at += 5) expect(window.add(batch(900), 20, at)).toBeNull();
    expect(window.counts(499)).toBe(false);
    let report: WindowReport | null = null;
    for (let at = 510; report === null; at += 10) report = window.add(batch(10), 20, at);
    expect(report.p95Ms).toBe(10);
  });

  it('is never shorter than a moment, and then holds more batches', () => {
    const report = fill(new MeasuringWindow(proposal(2), 2, 0), 2, 2, 20);
    expect(report.batches).toBeGreaterThanOrEqual((2 * limits.windowShortestMs) / 2);
    expect(report.throughput).toBeCloseTo((1000 * 4 * 2) / 2);
  });

  it.each([1, 3, 7, 8])('measures the throughput of %i instances in step exactly', (instances) => {
    const report = fill(new MeasuringWindow(proposal(instances), instances, 0), instances, 50, 100);
    expect(report.throughput).toBeCloseTo((1000 * 4 * instances) / 50);
    expect(report.batches).toBeGreaterThanOrEqual(limits.windowBatches);
  });

  it('ends as soon as the objective is certain to be missed, but not when probing', () => {
    expect(fill(new MeasuringWindow(proposal(1), 0, 0), 1, 200, 100)).toMatchObject({
      batches: 3,
      p95Ms: 200,
      lateShare: 3 / limits.windowBatches,
    });
    expect(fill(new MeasuringWindow(proposal(1, 'probe'), 0, 0), 1, 200, 100).batches).toBe(
      limits.probeBatches,
    );
  });

  it('ends after its time when batches are slow', () => {
    expect(fill(new MeasuringWindow(proposal(1), 0, 0), 1, 700, 1000).batches).toBe(
      limits.windowLeastBatches,
    );
  });

  it('tells a load that does not fill the setting', () => {
    const window = new MeasuringWindow(proposal(1), 0, 0);
    let report: WindowReport | null = null;
    for (let at = 10; report === null; at += 10) {
      report = window.add({ items: 1, runs: 1, serviceMs: 10, moreWaited: false }, 20, at);
    }
    expect(report.saturated).toBe(false);
  });
});
