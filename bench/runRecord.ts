/** What the file of a run in tabs says of the run itself: when, of what commit, how long and where. Measures nothing. */
import type { Browser } from '@playwright/test';
import { rounded } from './figures.ts';
import { describeCommit, describeMachine, loadAverage } from './machine.ts';

/** Begins now; what it returns tells it as of its call. */
export function beginRecord() {
  const started = new Date();
  const loadBefore = loadAverage();
  return (browser: Browser) => ({
    date: started.toISOString(),
    ...describeCommit(),
    seconds: rounded((Date.now() - started.getTime()) / 1000, 0),
    machine: {
      ...describeMachine(),
      browser: `Chromium ${browser.version()}`,
      loadBefore,
      loadAfter: loadAverage(),
    },
    threadsPerTab: 1,
  });
}
