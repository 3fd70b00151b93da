import { describe, expect, it } from 'vitest';
import { playwrightCounts, sum, vitestCounts } from './testCounts.ts';

const vitest = (passed: number, failed: number, files: readonly unknown[] = []) => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: 1,
  numTodoTests: 0,
  testResults: files,
});

const playwright = (expected: number, unexpected: number, flaky = 0) => ({
  stats: { expected, unexpected, flaky, skipped: 2, duration: 1 },
});

describe('counts of a runner', () => {
  it('are those of its report', () => {
    expect(vitestCounts(vitest(5, 0), 0)).toEqual({ passed: 5, failed: 0, skipped: 1 });
    expect(vitestCounts(vitest(5, 2), 1)).toEqual({ passed: 5, failed: 2, skipped: 1 });
    expect(playwrightCounts(playwright(3, 1, 1), 1)).toEqual({ passed: 3, failed: 2, skipped: 2 });
  });

  it('hold a failure for a file that does not load, and for one outside of any test', () => {
    const unloaded = { status: 'failed', assertionResults: [] };
    expect(vitestCounts(vitest(5, 0, [unloaded]), 1).failed).toBe(1);
    expect(vitestCounts(vitest(5, 0), 1).failed).toBe(1);
    expect(playwrightCounts(playwright(3, 0), 1).failed).toBe(1);
  });

  it('hold a failure where nothing ran at all', () => {
    const nothing = { ...playwright(0, 0), stats: { ...playwright(0, 0).stats, skipped: 0 } };
    expect(playwrightCounts(nothing, 0).failed).toBe(1);
  });

  it('add up', () => {
    const counts = { passed: 1, failed: 2, skipped: 3 };
    expect(sum([counts, counts])).toEqual({ passed: 2, failed: 4, skipped: 6 });
    expect(sum([])).toEqual({ passed: 0, failed: 0, skipped: 0 });
  });
});
