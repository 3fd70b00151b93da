import { describe, expect, it } from 'vitest';
import { jointThroughput } from './gains.ts';
import { Measurements } from './measurements.ts';

function measured(points: readonly (readonly [batch: number, instances: number, throughput: number])[]) {
  const measurements = new Measurements();
  for (const [batch, instances, throughput] of points) {
    const setting = { batch, instances, threads: 1 };
    const report = { setting, batches: 20, items: 20, p95Ms: 1, medianMs: 1, lateShare: 0, saturated: true };
    measurements.record({ ...report, throughput });
  }
  return measurements;
}

describe('jointThroughput', () => {
  const singles = [
    [1, 1, 10],
    [4, 1, 20],
    [1, 2, 15],
  ] as const;
  const at = (batch: number, instances: number) => ({ batch, instances, threads: 1 });

  it('multiplies the gains, and leaves a little for what was never tried', () => {
    expect(jointThroughput(measured(singles), at(4, 2))).toBeCloseTo(1.15 * 30);
  });

  it('learns from what was tried how the gains go together', () => {
    expect(jointThroughput(measured([...singles, [4, 2, 24]]), at(8, 4))).toBeCloseTo(1.05 * 0.8 * 120);
  });

  it('learns nothing from what was only continued in proportion', () => {
    expect(jointThroughput(measured([...singles, [8, 2, 24]]), at(4, 2))).toBeCloseTo(1.15 * 30);
  });

  it('takes the next measured value for one between, and goes on in proportion beyond', () => {
    expect(jointThroughput(measured(singles), at(2, 2))).toBeCloseTo(1.15 * 30);
    expect(jointThroughput(measured(singles), at(8, 1))).toBeCloseTo(1.15 * 40);
  });

  it('bounds nothing where little is known', () => {
    expect(jointThroughput(measured([[4, 1, 20]]), at(4, 2))).toBe(Number.POSITIVE_INFINITY);
  });
});
