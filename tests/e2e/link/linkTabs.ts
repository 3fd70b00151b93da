/** Connects two pages of the link tests; the test carries offer and answer between them. */
import type { Page } from '@playwright/test';
import type { LinkPageOptions } from './linkPage.ts';

export async function connectTabs(a: Page, b: Page, url: string, options: LinkPageOptions): Promise<void> {
  for (const page of [a, b]) {
    await page.goto(url);
    await page.waitForFunction(() => window.linkPage !== undefined);
  }
  const connect = (page: Page) => page.evaluate((given) => window.linkPage.connect(given), options);
  await connect(a);
  const offer = await a.evaluate(() => window.linkPage.offer());
  await connect(b);
  const answer = await b.evaluate((text) => window.linkPage.answer(text), offer);
  await a.evaluate((text) => window.linkPage.accept(text), answer);
  for (const page of [a, b]) await page.evaluate(() => window.linkPage.worker.opened());
}
