/** A clock for simulations: hours pass in seconds, in the order of events, and `now` may jump as real clocks do. */
import type { Clock } from '../../clock.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  action: (() => void) | null;
}

export class VirtualClock implements Clock {
  /** A binary heap by time, then by order. */
  readonly #timers: Timer[] = [];
  #elapsed = 0;
  #offset = 0;
  #order = 0;

  now(): number {
    return this.#elapsed + this.#offset;
  }

  after(ms: number, action: () => void): () => void {
    const timer: Timer = { at: this.#elapsed + Math.max(0, ms), order: this.#order++, action };
    this.#push(timer);
    return () => {
      timer.action = null;
    };
  }

  /** What `now` says moves; timers do not notice. */
  jump(ms: number): void {
    this.#offset += ms;
  }

  /** Lets `ms` pass, or less once `isDone` says so. */
  async advance(ms: number, isDone: () => boolean = () => false): Promise<void> {
    const end = this.#elapsed + ms;
    await settled();
    while (!isDone()) {
      const [next] = this.#timers;
      if (next === undefined || next.at > end) break;
      this.#pop();
      if (next.action === null) continue;
      this.#elapsed = next.at;
      next.action();
      await settled();
    }
    if (!isDone()) this.#elapsed = end;
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfBefore(at, parent)) return;
      at = parent;
    }
  }

  #pop(): void {
    const heap = this.#timers;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const child = this.#isBefore(right, left) ? right : left;
      if (!this.#swapIfBefore(child, at)) return;
      at = child;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [first, second] = [this.#timers[a], this.#timers[b]];
    if (first === undefined || second === undefined) return false;
    return first.at < second.at || (first.at === second.at && first.order < second.order);
  }

  #swapIfBefore(a: number, b: number): boolean {
    const [first, second] = [this.#timers[a], this.#timers[b]];
    if (first === undefined || second === undefined || !this.#isBefore(a, b)) return false;
    this.#timers[a] = second;
    this.#timers[b] = first;
    return true;
  }
}

/** Long enough for every chain of promises that can go on to have done so. */
async function settled(): Promise<void> {
  for (let i = 0; i < 16; i++) await null;
}
