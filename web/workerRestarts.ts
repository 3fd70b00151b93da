/**
 * Whether a page that has left its room because its Worker died joins again by itself with a new one: yes, but not
 * again and again. Starts nothing.
 */
import type { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import type { Clock } from './clock.ts';

export class WorkerRestarts {
  readonly #clock: Pick<Clock, 'now'>;
  #times: readonly number[] = [];

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Why the room was left; where the answer is yes, one restart is used up. */
  allow({ code }: StarlingError): boolean {
    if (code !== 'WORKER_DIED') return false;
    const now = this.#clock.now();
    const recent = this.#times.filter((time) => now - time < limits.workerRestartsMs);
    if (recent.length >= limits.workerRestarts) return false;
    this.#times = [...recent, now];
    return true;
  }
}
