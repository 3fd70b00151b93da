/**
 * End-to-end tests in the browsers of the machine. Each spec starts its own signaling server. Specs named
 * *.firefox.spec.ts run in Firefox where there is one; all others in Chromium.
 */
import { defineConfig } from '@playwright/test';
import { chromiumOptions, firefoxOptions } from './scripts/browserOptions.ts';

const firefox = firefoxOptions();
if (firefox === undefined) console.warn('Firefox was not found: *.firefox.spec.ts are skipped.');

const firefoxSpecs = '**/*.firefox.spec.ts';

export default defineConfig({
  testDir: 'tests/e2e',
  outputDir: 'test-results',
  workers: 1,
  retries: 0,
  timeout: 120_000,
  forbidOnly: true,
  reporter: 'list',
  use: { trace: 'retain-on-failure' },
  projects: [
    {
      name: 'chromium',
      testIgnore: firefoxSpecs,
      use: { browserName: 'chromium', launchOptions: chromiumOptions() },
    },
    ...(firefox === undefined
      ? []
      : [
          {
            name: 'firefox',
            testMatch: firefoxSpecs,
            use: { browserName: 'firefox' as const, channel: 'moz-firefox', launchOptions: firefox },
          },
        ]),
  ],
});
