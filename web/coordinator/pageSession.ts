/** This page's own plan, from the call that loads it until it is released or another takes its place. */
import type { StarlingError } from '../../protocol/errors.ts';
import type { PlanSummary } from '../../workers/api.ts';

export class PageSession {
  /** Plans of one model, of which the best for the room is taken. */
  readonly urls: readonly string[];
  /** The one that is taken. */
  url: string;
  /** What the call that loads the plan gives. */
  readonly loading: Promise<PlanSummary>;
  /** The plan, once its placement was active; until then `loading` is pending. */
  summary: PlanSummary | null = null;
  /** This device could not hold its shards; the next run tries again. */
  failed = false;
  #resolve: (summary: PlanSummary) => void = () => undefined;
  #reject: (error: StarlingError) => void = () => undefined;
  #unlisten: () => void = () => undefined;

  constructor(urls: readonly string[]) {
    this.urls = urls;
    this.url = urls[0] ?? '';
    this.loading = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Calls `onAbort` when the caller gives the loading up, at once where it has already. */
  listen(signal: AbortSignal | undefined, onAbort: () => void): void {
    if (signal?.aborted === true) {
      onAbort();
      return;
    }
    signal?.addEventListener('abort', onAbort);
    this.#unlisten = () => signal?.removeEventListener('abort', onAbort);
  }

  /** The placement is active: the plan is loaded. */
  succeed(summary: PlanSummary): void {
    if (this.summary !== null) return;
    this.#unlisten();
    this.summary = summary;
    this.#resolve(summary);
  }

  /** Ends the loading; nothing where it has ended. */
  reject(error: StarlingError): void {
    this.#unlisten();
    this.#reject(error);
  }
}
