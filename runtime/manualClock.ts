/** A clock that moves only when told, for tests and simulations. */
import type { Clock } from './clock.ts';

export class ManualClock implements Clock {
  #now = 0;
  #timers: { at: number; order: number; callback: () => void }[] = [];
  #order = 0;

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, order: this.#order++, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get pendingTimers(): number {
    return this.#timers.length;
  }

  /** Time that passes while nothing can run, as in a thread that computes. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Runs what falls due, in order, and lets promises settle between. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const due = this.#timers
        .filter((timer) => timer.at <= end)
        .sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
    }
    this.#now = end;
  }
}

/** A macrotask later, every chain of microtasks has run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
