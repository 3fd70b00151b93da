/**
 * Symmetric exchanges between the Workers of two pages over the bare data channel and over our link: both ends send
 * at once and wait for the other's. Medians in milliseconds per exchange.
 */
import type { Page } from '@playwright/test';
import type {} from '../tests/e2e/link/linkPage.ts';
import { median, rounded } from './figures.ts';

export interface Exchange {
  readonly bytes: number;
  readonly chunkBytes: number;
  readonly bareMs: number;
  readonly linkMs: number;
  readonly ratio: number;
}

export interface ExchangeRequest {
  readonly bytes: number;
  /** Exchanges of one turn. */
  readonly count: number;
  readonly chunkBytes: number;
  /** Bare and link take turns, so that a busy moment of the machine hits both. */
  readonly turns: number;
}

async function both(a: Page, b: Page, run: (page: Page) => Promise<number[]>): Promise<number[]> {
  // The first exchange of a turn also waits for the other end to begin.
  return (await Promise.all([run(a), run(b)])).flatMap((times) => times.slice(1));
}

/** The pages are connected with a bare channel beside the link (see linkTabs.ts). */
export async function measureExchange(a: Page, b: Page, request: ExchangeRequest): Promise<Exchange> {
  const { bytes, count, chunkBytes, turns } = request;
  const bare: number[] = [];
  const link: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const given = [bytes, count, chunkBytes] as const;
    bare.push(
      ...(await both(a, b, (page) =>
        page.evaluate(([n, times, chunk]) => window.linkPage.worker.exchangeBare(n, times, chunk), given),
      )),
    );
    link.push(
      ...(await both(a, b, (page) =>
        page.evaluate(([n, times]) => window.linkPage.worker.exchangeLink(n, times), given),
      )),
    );
  }
  const [bareMs, linkMs] = [median(bare), median(link)];
  return {
    bytes,
    chunkBytes,
    bareMs: rounded(bareMs, 3),
    linkMs: rounded(linkMs, 3),
    ratio: rounded(linkMs / bareMs, 3),
  };
}
