/** Links over real data channels between two tabs, in Workers: transferred, and forwarded by the page. Run by two specs. */
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { type LinkSite, serveLinkSite } from './linkSite.ts';
import { connectTabs } from './linkTabs.ts';

let site: LinkSite;

async function tabs(context: BrowserContext, forwarded: boolean, lostMs?: number): Promise<[Page, Page]> {
  const pages: [Page, Page] = [await context.newPage(), await context.newPage()];
  await connectTabs(...pages, site.url, {
    forwarded,
    bare: false,
    ...(lostMs === undefined ? {} : { lostMs }),
  });
  return pages;
}

const send = (page: Page, from: number, count: number, bytes: number) =>
  page.evaluate(([f, c, b]) => window.linkPage.worker.send(f, c, b), [from, count, bytes] as const);
const receive = (page: Page, count: number, bytes: number) =>
  page.evaluate(([c, b]) => window.linkPage.worker.receive(c, b), [count, bytes] as const);
const stats = (page: Page) => page.evaluate(() => window.linkPage.worker.stats());

export function linkTests(): void {
  test.beforeAll(async () => {
    site = await serveLinkSite();
  });
  test.afterAll(() => site.close());

  for (const forwarded of [false, true]) {
    test.describe(
      forwarded ? 'a channel forwarded by the page' : 'a channel transferred into the Worker',
      () => {
        test('carries large tensors both ways at once, whole and in order', async ({ context }) => {
          const [a, b] = await tabs(context, forwarded);
          const [bytes, count] = [2_500_003, 4];
          const order = Array.from({ length: count }, (_, i) => 10 + i);
          const all = [
            send(a, 10, count, bytes),
            send(b, 10, count, bytes),
            receive(a, count, bytes),
            receive(b, count, bytes),
          ];
          expect(await Promise.all(all)).toEqual([[], [], order, order]);
          const [left, right] = [await stats(a), await stats(b)];
          for (const end of [left, right]) {
            expect(end.dropped).toEqual({});
            expect(end.sentBytes).toBeGreaterThan(count * bytes);
            expect([end.queuedBytes, end.reassemblyBytes]).toEqual([0, 0]);
            expect(end.minRoundTripMs).toBeGreaterThan(0);
          }
          for (const page of [a, b]) await page.close();
        });

        test('rejects what waits when the peer hangs up in the middle', async ({ context }) => {
          const [a, b] = await tabs(context, forwarded);
          const sending = send(a, 0, 8, 8_000_000);
          await receive(b, 1, 8_000_000);
          await b.evaluate(() => window.linkPage.worker.close());
          const codes = await sending;
          expect(codes.length).toBeGreaterThan(4);
          expect(new Set(codes)).toEqual(new Set(['PEER_LOST']));
          for (const page of [a, b])
            expect(await page.evaluate(() => window.linkPage.worker.end())).toBe('PEER_LOST');
          expect(await send(a, 99, 1, 10)).toEqual(['PEER_LOST']);
          for (const page of [a, b]) await page.close();
        });

        test('ends when the other tab goes away without a word', async ({ context }) => {
          const [a, b] = await tabs(context, forwarded, 2000);
          await b.close();
          expect(await a.evaluate(() => window.linkPage.worker.end())).toBe('PEER_LOST');
          await a.close();
        });

        test('ends when the connection under it is closed', async ({ context }) => {
          const [a, b] = await tabs(context, forwarded);
          await b.evaluate(() => window.linkPage.hangUp());
          for (const page of [a, b])
            expect(await page.evaluate(() => window.linkPage.worker.end())).toBe('PEER_LOST');
          for (const page of [a, b]) await page.close();
        });
      },
    );
  }

  test('a busy page does not stall a transferred channel', async ({ context }) => {
    const [a, b] = await tabs(context, false);
    const blocked = a.evaluate(() => {
      // The Worker is asked first, then the page goes away for two seconds.
      const start = performance.now();
      const times = window.linkPage.worker.exchangeLink(1000, 50);
      window.linkPage.block(2000);
      return times.then((ms) => ({ ms, blockedMs: performance.now() - start }));
    });
    await b.evaluate(() => window.linkPage.worker.exchangeLink(1000, 50));
    const { ms, blockedMs } = await blocked;
    expect(blockedMs).toBeGreaterThan(1999);
    expect(ms.slice(1).reduce((sum, time) => sum + time, 0)).toBeLessThan(1500);
    for (const page of [a, b]) await page.close();
  });
}
