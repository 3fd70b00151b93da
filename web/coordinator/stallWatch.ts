/** Notices devices whose load makes no progress. */
import { limits } from '../../protocol/limits.ts';
import type { Placement } from '../../protocol/roomMessages.ts';
import type { Clock } from '../clock.ts';
import type { Epochs } from './epochs.ts';
import type { WakeUp } from './wakeUp.ts';

export class StallWatch {
  readonly #epochs: Epochs;
  readonly #clock: Clock;
  readonly #wakeUp: WakeUp;
  #seen = { key: '', since: 0 };

  constructor(epochs: Epochs, clock: Clock, wakeUp: WakeUp) {
    this.#epochs = epochs;
    this.#clock = clock;
    this.#wakeUp = wakeUp;
  }

  /** Devices of a placement that are not ready, where nothing has moved anywhere for `loadStallMs`. */
  stalled(placement: Placement): readonly string[] {
    const pending = placement.devices.map((id) => {
      const load = this.#epochs.loadOn(id, placement);
      return { id, ready: load?.phase === 'ready', progress: load?.progress ?? 0 };
    });
    const key = JSON.stringify([placement.epoch, pending]);
    if (key !== this.#seen.key) this.#seen = { key, since: this.#clock.now() };
    if (!this.#wakeUp.isPast(this.#seen.since + limits.loadStallMs)) return [];
    return pending.flatMap(({ id, ready }) => (ready ? [] : [id]));
  }
}
