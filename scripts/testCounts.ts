/** How many tests passed and failed, read from the JSON reports of the two runners. Runs nothing. */
import * as v from 'valibot';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const VitestReport = v.object({
  numPassedTests: v.number(),
  numFailedTests: v.number(),
  numPendingTests: v.number(),
  numTodoTests: v.number(),
  testResults: v.array(v.object({ status: v.string(), assertionResults: v.array(v.unknown()) })),
});

const PlaywrightReport = v.object({
  stats: v.object({
    expected: v.number(),
    unexpected: v.number(),
    flaky: v.number(),
    skipped: v.number(),
  }),
});

/** A file that could not even be loaded has no failed test in it: it counts as one. */
export function vitestCounts(report: unknown, exitCode: number): Counts {
  const parsed = v.parse(VitestReport, report);
  const unloaded = parsed.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  ).length;
  return settle(
    {
      passed: parsed.numPassedTests,
      failed: parsed.numFailedTests + unloaded,
      skipped: parsed.numPendingTests + parsed.numTodoTests,
    },
    exitCode,
  );
}

/** A test that passed at a second try is a test that failed. */
export function playwrightCounts(report: unknown, exitCode: number): Counts {
  const { stats } = v.parse(PlaywrightReport, report);
  const { expected, unexpected, flaky, skipped } = stats;
  return settle({ passed: expected, failed: unexpected + flaky, skipped }, exitCode);
}

export function sum(all: readonly Counts[]): Counts {
  return all.reduce(
    (total, counts) => ({
      passed: total.passed + counts.passed,
      failed: total.failed + counts.failed,
      skipped: total.skipped + counts.skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  );
}

/** A runner that says it failed (an error outside of any test, or no test at all) counts as one failure. */
function settle(counts: Counts, exitCode: number): Counts {
  const silent =
    (exitCode !== 0 && counts.failed === 0) || counts.passed + counts.failed + counts.skipped === 0;
  return silent ? { ...counts, failed: 1 } : counts;
}
