/**
 * Tells the other devices about this one whenever something changed: at once, or, where only the progress of
 * a load moved, no more often than `statusIntervalMs`.
 */
import { limits } from '../../protocol/limits.ts';
import type { DeviceStatus } from '../../protocol/roomMessages.ts';
import type { Clock } from '../clock.ts';

export class StatusSender {
  readonly #broadcast: (status: DeviceStatus) => void;
  readonly #clock: Clock;
  #sent = '';
  #sentWithoutProgress = '';
  #sentAt = Number.NEGATIVE_INFINITY;
  #next: DeviceStatus | null = null;
  #cancel: (() => void) | null = null;

  constructor(broadcast: (status: DeviceStatus) => void, clock: Clock) {
    this.#broadcast = broadcast;
    this.#clock = clock;
  }

  offer(status: DeviceStatus): void {
    this.#next = status;
    if (JSON.stringify(status) === this.#sent) return;
    const wait = this.#sentAt + limits.statusIntervalMs - this.#clock.now();
    if (wait <= 0 || withoutProgress(status) !== this.#sentWithoutProgress) this.#send();
    else this.#cancel ??= this.#clock.after(wait, () => this.#send());
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#next = null;
  }

  #send(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#next === null) return;
    this.#sent = JSON.stringify(this.#next);
    this.#sentWithoutProgress = withoutProgress(this.#next);
    this.#sentAt = this.#clock.now();
    this.#broadcast(this.#next);
  }
}

function withoutProgress(status: DeviceStatus): string {
  return JSON.stringify({ ...status, load: status.load && { ...status.load, progress: 0 } });
}
