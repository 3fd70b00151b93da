/** Quantiles, and the cost of an exchange between measured sizes. */
import { describe, expect, it } from 'vitest';
import { exchangeMs, linkFrom, median, quantile, spreadOf } from './figures.ts';

describe('figures', () => {
  it('takes quantiles between neighbours, whatever the order', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(quantile([10, 0], 0.1)).toBeCloseTo(1);
    expect(median([])).toBeNaN();
    expect(spreadOf([2, 1, 3])).toMatchObject({ medianMs: 2, bestMs: 1, runs: 3 });
  });

  it('reads the cost of an exchange off the measured ones', () => {
    const costs = [
      { bytes: 4096, ms: 1 },
      { bytes: 64, ms: 0.5 },
      { bytes: 8192, ms: 3 },
    ];
    expect(exchangeMs(costs, 8)).toBe(0.5);
    expect(exchangeMs(costs, 4096)).toBe(1);
    expect(exchangeMs(costs, 6144)).toBe(2);
    expect(exchangeMs(costs, 81920)).toBe(30);
    expect(exchangeMs([], 1)).toBeNaN();
  });

  it('finds the link that made the exchanges, and lets no size count more than another', () => {
    const link = { roundTripMs: 0, messageMs: 0.5, bytesPerMs: 2000 };
    const took = (bytes: number, times = 1) => ({
      bytes,
      ms: link.messageMs + (times * bytes) / link.bytesPerMs,
    });
    const found = linkFrom([took(1e6), { bytes: 64, ms: link.messageMs }, took(4096)]);
    expect(found.messageMs).toBe(link.messageMs);
    expect(found.bytesPerMs).toBeCloseTo(link.bytesPerMs);
    const uneven = linkFrom([{ bytes: 64, ms: link.messageMs }, took(4096, 2), took(1e6, 0.5)]);
    expect(uneven.bytesPerMs).toBeCloseTo(link.bytesPerMs);
  });
});
