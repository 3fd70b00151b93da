/**
 * How long a page's main thread works at a stretch, in Chromium: longer tasks are what a person feels as a frozen page.
 * Processor time, from the browser's own trace: a busy machine makes every task last longer, but not cost more.
 */
import type { Browser, Page } from '@playwright/test';

/** Half of what a person notices as a page that has stopped. */
export const frozenMs = 200;

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds that the thread was running. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** The longest task of all pages of the browser while `action` goes on, in milliseconds of processor time. */
export async function longestTask(
  browser: Browser,
  page: Page,
  action: () => Promise<void>,
): Promise<number> {
  await browser.startTracing(page, { categories: ['toplevel'] });
  let trace: Buffer;
  try {
    await action();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: readonly TraceEvent[] };
  const pages = new Set(
    traceEvents.flatMap(({ name, args, pid, tid }) =>
      name === 'thread_name' && args?.name === 'CrRendererMain' ? [`${pid} ${tid}`] : [],
    ),
  );
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && pages.has(`${pid} ${tid}`),
  );
  if (tasks.length === 0) throw new Error('The trace holds no task of a page.');
  return tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur), 0) / 1000;
}
