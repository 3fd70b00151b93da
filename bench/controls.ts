/**
 * What is measured before anything else: whether two tabs find a core each, and what a bare exchange between two
 * Workers costs. Where two tabs together do not reach the threshold, the machine is busy and ratios say nothing.
 */
import type { Browser, Page } from '@playwright/test';
import { serveLinkSite } from '../tests/e2e/link/linkSite.ts';
import { connectTabs } from '../tests/e2e/link/linkTabs.ts';
import { type Exchange, measureExchange } from './exchange.ts';
import { median, rounded } from './figures.ts';
import { watchOthers } from './machine.ts';
import type { PageModel } from './page/benchPage.ts';

export const quietRatio = 1.8;

export interface TwoTabsControl {
  /** Runs per second of one tab, of two at once together, and their ratio: medians over the turns. */
  readonly onePerSecond: number;
  readonly twoPerSecond: number;
  readonly ratio: number;
  readonly quiet: boolean;
  readonly othersCores: number | null;
}

const controlTurns = 5;
const turnMs = 2_000;

export async function twoTabsControl(
  browser: Browser,
  pageUrl: string,
  model: PageModel,
): Promise<TwoTabsControl> {
  const pages: Page[] = [];
  for (let i = 0; i < 2; i++) {
    const page = await browser.newPage();
    pages.push(page);
    await page.goto(pageUrl);
    await page.waitForFunction(() => window.benchPage !== undefined);
    await page.evaluate((given) => window.benchPage.openPlain(given), model);
  }
  const throughput = (page: Page) => page.evaluate((ms) => window.benchPage.throughput(ms), turnMs);
  for (const page of pages) await page.evaluate(() => window.benchPage.run(3));
  const others = watchOthers();
  const turns: { readonly one: number; readonly two: number }[] = [];
  for (let turn = 0; turn < controlTurns; turn++) {
    const alone = pages[turn % 2];
    if (alone === undefined) break;
    const one = await throughput(alone);
    const [left = 0, right = 0] = await Promise.all(pages.map(throughput));
    turns.push({ one, two: left + right });
  }
  const othersCores = others();
  for (const page of pages) await page.close();
  const ratio = median(turns.map(({ one, two }) => two / one));
  return {
    onePerSecond: rounded(median(turns.map(({ one }) => one)), 3),
    twoPerSecond: rounded(median(turns.map(({ two }) => two)), 3),
    ratio: rounded(ratio, 3),
    quiet: ratio >= quietRatio,
    othersCores: othersCores === null ? null : rounded(othersCores),
  };
}

/** Which threads share a core differs from turn to turn, and short exchanges feel it most. */
const exchanges = [
  { bytes: 64, count: 100, turns: 25 },
  { bytes: 4 * 1024, count: 50, turns: 25 },
  { bytes: 16 * 1024, count: 30, turns: 10 },
  { bytes: 64 * 1024, count: 30, turns: 5 },
  { bytes: 1024 * 1024, count: 5, turns: 5 },
];

export async function exchangeControl(
  browsers: readonly [Browser, Browser],
  host: string,
): Promise<Exchange[]> {
  const site = await serveLinkSite(host);
  const [a, b] = [await browsers[0].newPage(), await browsers[1].newPage()];
  const results: Exchange[] = [];
  const chunkBytes = 64 * 1024;
  await connectTabs(a, b, site.url, { forwarded: false, bare: true, chunkBytes });
  for (const exchange of exchanges) {
    results.push(await measureExchange(a, b, { ...exchange, chunkBytes }));
  }
  for (const page of [a, b]) await page.close();
  site.close();
  return results;
}
