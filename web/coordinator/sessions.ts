/** Which plan is this page's own, and how its loading or its runs end. When a plan is opened is decided in decisions.ts. */
import { StarlingError } from '../../protocol/errors.ts';
import type { Placement } from '../../protocol/roomMessages.ts';
import type { Follower } from './follower.ts';
import { PageSession } from './pageSession.ts';
import type { RunLoop } from './runLoop.ts';

export interface SessionsOptions {
  readonly follower: Follower;
  readonly runs: Pick<RunLoop, 'rejectAll'>;
  onChange(): void;
}

export class Sessions {
  readonly #options: SessionsOptions;
  #current: PageSession | null = null;
  #opening = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get current(): PageSession | null {
    return this.#current;
  }

  /** The Worker is reading a plan that no host has announced. */
  get opening(): boolean {
    return this.#opening;
  }

  start(urls: readonly string[], signal: AbortSignal | undefined): PageSession {
    const session = new PageSession(urls);
    this.#current = session;
    session.listen(signal, () => {
      if (this.#current === session) this.#current = null;
      session.reject(new StarlingError('RUN_ABORTED', 'Loading the plan was called off by its caller.'));
      this.#options.onChange();
    });
    return session;
  }

  /** Reads the plan of a session, so that this device can become host with it. */
  open(session: PageSession): void {
    const { follower, onChange } = this.#options;
    this.#opening = true;
    follower.open(session.url).then(
      () => {
        this.#opening = false;
        onChange();
      },
      (thrown: unknown) => {
        this.#opening = false;
        if (this.#current === session) this.fail(session, StarlingError.from(thrown, 'PLAN_UNREADABLE'));
        onChange();
      },
    );
  }

  /** Has another of the session's plans taken; false where it is already. */
  turnTo(session: PageSession, url: string): boolean {
    if (session.url === url) return false;
    session.url = url;
    this.#options.onChange();
    return true;
  }

  /** This device cannot hold its shards. A plan that was loaded before stays: its next run tries again. */
  fail(session: PageSession, error = this.#options.follower.error): void {
    const reason = error ?? new StarlingError('SESSION_FAILED', 'This device could not load its shards.');
    this.#rejectPending(session, reason);
    session.failed = true;
    if (session.summary === null && this.#current === session) this.#current = null;
  }

  /** Whatever is pending rejects with `reason`. False where there is no session. */
  end(reason: StarlingError): boolean {
    const session = this.#current;
    if (session === null) return false;
    this.#current = null;
    this.#rejectPending(session, reason);
    return true;
  }

  /** The room runs a plan, and it is another one. */
  wantsOther(session: PageSession, placement: Placement | null): boolean {
    const { load, plan } = this.#options.follower;
    if (load?.phase !== 'ready' || plan === null) return false;
    // What is open may have been opened in order to become host, while the room still runs something else.
    return !session.urls.includes(plan.url) || plan.summary.sha256 !== placement?.plan.sha256;
  }

  #rejectPending(session: PageSession, error: StarlingError): void {
    if (session.summary === null) session.reject(error);
    this.#options.runs.rejectAll(error);
  }
}
