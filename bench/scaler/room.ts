/** The tabs of the scaler's benchmark: a room of two, what they serve, and the processor time that it takes. */
import type { Browser, Page } from '@playwright/test';
import type { Load, PlanCase, ScalerSettings, Served } from '../page/manyRuns.ts';

export interface ScalerRoom {
  /**
   * Serves one load after the other, once it has loaded, found its instances and, where it looks for a setting, had the
   * time for it.
   */
  measure(
    given: PlanCase,
    settings: ScalerSettings,
    loads: readonly Load[],
    adaptMs: number,
  ): Promise<Measured[]>;
  close(): Promise<void>;
}

export interface Measured extends Served {
  /** Of all processes of the browsers, while it was served; null where the browser does not say. */
  readonly cpuSeconds: number | null;
}

/** Of the work between loading and measuring: as long as instances need for their first batches. */
const settleMs = 1_500;

/** Joins so many tabs of each browser into one room, over relays only where they are given; the first tab has the runs. */
export async function openScalerRoom(
  places: readonly { readonly browser: Browser; readonly url: string }[],
  name: string,
  relays: readonly RTCIceServer[] | null = null,
): Promise<ScalerRoom> {
  const pages: Page[] = [];
  for (const { browser, url } of places) {
    const page = await browser.newPage();
    await page.goto(url);
    await page.waitForFunction(() => window.scalerPage !== undefined);
    await page.evaluate(([room, ice]) => window.scalerPage.join(room, ice), [name, relays] as const);
    pages.push(page);
  }
  const [host] = pages;
  if (host === undefined) throw new Error('A room needs one tab at least.');
  await host.waitForFunction((wanted) => window.scalerPage.devices() === wanted, pages.length, {
    timeout: 60_000,
  });
  const browsers = [...new Set(places.map(({ browser }) => browser))];
  const serve = (load: Load) => host.evaluate((wanted) => window.scalerPage.serve(wanted), load);
  return {
    async measure(given, settings, loads, adaptMs) {
      await host.evaluate(([plan, wishes]) => window.scalerPage.load(plan, wishes), [
        given,
        settings,
      ] as const);
      const count = loads[0]?.count ?? 1;
      if (adaptMs > 0) await serve({ kind: 'steady', count, ms: adaptMs });
      await host.waitForFunction(
        () => {
          const [there, wanted] = window.scalerPage.instances();
          return there >= wanted;
        },
        null,
        { timeout: 60_000 },
      );
      await serve({ kind: 'steady', count, ms: settleMs });
      const measured: Measured[] = [];
      for (const load of loads) {
        const before = await cpuSeconds(browsers);
        const served = await serve(load);
        const after = await cpuSeconds(browsers);
        measured.push({ ...served, cpuSeconds: before === null || after === null ? null : after - before });
      }
      return measured;
    },
    async close() {
      for (const page of pages) await page.close();
    },
  };
}

interface ProcessInfo {
  readonly processInfo: readonly { readonly cpuTime: number }[];
}

async function cpuSeconds(browsers: readonly Browser[]): Promise<number | null> {
  let sum = 0;
  for (const browser of browsers) {
    try {
      const session = await browser.newBrowserCDPSession();
      const { processInfo } = (await session.send('SystemInfo.getProcessInfo')) as ProcessInfo;
      await session.detach();
      sum += processInfo.reduce((all, { cpuTime }) => all + cpuTime, 0);
    } catch {
      return null;
    }
  }
  return sum;
}
