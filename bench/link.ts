/**
 * What the link costs over the bare data channel: symmetric exchanges between two Workers, each channel transferred
 * into its Worker, both ends sending at once. Prints JSON; times are medians in milliseconds per exchange.
 *
 *   npx tsx bench/link.ts [chromium|firefox|both ...]
 */
import { type Browser, chromium, firefox } from '@playwright/test';
import { chromiumOptions, firefoxOptions } from '../scripts/browserOptions.ts';
import { serveLinkSite } from '../tests/e2e/link/linkSite.ts';
import { connectTabs } from '../tests/e2e/link/linkTabs.ts';
import { measureExchange } from './exchange.ts';

const sizes = [
  { bytes: 64, count: 200 },
  { bytes: 4 * 1024, count: 200 },
  { bytes: 16 * 1024, count: 100 },
  { bytes: 64 * 1024, count: 40 },
  { bytes: 1024 * 1024, count: 5 },
] as const;
const chunkSizes = [16 * 1024, 64 * 1024, 200_000] as const;
const turns = 7;

const launch = {
  chromium: () => chromium.launch(chromiumOptions()),
  firefox: () => firefox.launch({ channel: 'moz-firefox', ...firefoxOptions() }),
};
const pairs = {
  chromium: ['chromium', 'chromium'],
  firefox: ['firefox', 'firefox'],
  both: ['chromium', 'firefox'],
} as const;

const site = await serveLinkSite();
const results = [];
for (const name of process.argv.slice(2).length > 0 ? process.argv.slice(2) : Object.keys(pairs)) {
  const pair = pairs[name as keyof typeof pairs];
  if (pair === undefined) throw new Error(`Expected ${Object.keys(pairs).join(', ')}, got ${name}.`);
  const browsers: Browser[] = [];
  for (const browser of new Set(pair)) browsers.push(await launch[browser]());
  const [left, right = left] = browsers;
  if (left === undefined || right === undefined) throw new Error('No browser.');
  for (const chunkBytes of chunkSizes) {
    const [a, b] = [await left.newPage(), await right.newPage()];
    await connectTabs(a, b, site.url, { forwarded: false, bare: true, chunkBytes });
    // A smaller frame is one message whatever the chunk size.
    for (const { bytes, count } of sizes)
      if (bytes >= chunkBytes || chunkBytes === 64 * 1024)
        results.push({ pair: name, ...(await measureExchange(a, b, { bytes, count, chunkBytes, turns })) });
    for (const page of [a, b]) await page.close();
  }
  for (const browser of browsers) await browser.close();
}
site.close();
console.log(JSON.stringify(results, null, 2));
