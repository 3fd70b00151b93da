/** One timer for everything that falls due without anything having happened. */
import type { Clock } from '../clock.ts';

export class WakeUp {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  #next: { readonly at: number; readonly cancel: () => void } | null = null;

  /** `onDue` asks again, with `isPast`, for every moment that still matters. */
  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Whether that moment is over; if not, `onDue` is called when it comes, or earlier. */
  isPast(at: number): boolean {
    if (this.#clock.now() >= at) return true;
    if (this.#next !== null && this.#next.at <= at) return false;
    this.close();
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#next = null;
      this.#onDue();
    });
    this.#next = { at, cancel };
    return false;
  }

  close(): void {
    this.#next?.cancel();
    this.#next = null;
  }
}
