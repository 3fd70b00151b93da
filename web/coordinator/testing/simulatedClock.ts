/** A clock that stands until a test lets time pass. */

export class SimulatedClock {
  #now = 0;
  readonly #timers = new Set<{ at: number; action: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#now + ms, action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets time pass; what falls due is called in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let n = 0; ; n++) {
      if (n > 10_000) throw new Error('Timers set each other without end.');
      const next = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.action();
    }
    this.#now = end;
  }
}
