/** Numbers for further channels to other devices: each in turn, so that one that is still closing is not taken again. */
import { limits } from '../../protocol/limits.ts';

const { instanceChannelFirst: first, instanceChannelLast: last } = limits;

export class ChannelNumbers {
  readonly #next = new Map<string, number>();

  /** The next number for which `open` gives a channel to that device; null where it does for none. */
  open<Channel>(
    deviceId: string,
    open: (number: number) => Channel | null,
  ): { readonly number: number; readonly channel: Channel } | null {
    for (let tries = first; tries <= last; tries++) {
      const number = this.#next.get(deviceId) ?? first;
      this.#next.set(deviceId, number === last ? first : number + 1);
      const channel = open(number);
      if (channel !== null) return { number, channel };
    }
    return null;
  }

  /** That device is gone, and its channels with it. */
  forget(deviceId: string): void {
    this.#next.delete(deviceId);
  }
}
