/** Whether the other page still answers, and how fast: counts and times only, messages are sent by its owner. */
import { limits } from '../../protocol/limits.ts';
import type { Clock } from '../clock.ts';

export interface Heartbeat {
  /** Anything at all came from the other page. */
  heard(): void;
  /** The echo of one of our beats. */
  echo(count: number): void;
  /** There is reason to doubt: a silence of two beats from now on is enough. */
  doubt(): void;
  readonly roundTripMs: number | null;
  stop(): void;
}

export interface HeartbeatOptions {
  readonly clock: Clock;
  send(count: number): void;
  /** Once, with the length of the silence. */
  onLost(silentMs: number): void;
}

export function startHeartbeat({ clock, send, onLost }: HeartbeatOptions): Heartbeat {
  const { heartbeatMs, heartbeatLostMs } = limits;
  let count = 0;
  let sentAt = clock.now();
  let heardAt = clock.now();
  let allowedMs: number = heartbeatLostMs;
  let roundTripMs: number | null = null;
  let cancel = (): void => {};

  function beat(): void {
    const now = clock.now();
    // A page that was itself held back (hidden, frozen, busy) has no right to call the other one silent.
    const heldBack = now - sentAt > heartbeatLostMs / 2;
    if (heldBack) heardAt = now;
    if (now - heardAt >= allowedMs) {
      onLost(now - heardAt);
      return;
    }
    count += 1;
    sentAt = now;
    cancel = clock.after(heartbeatMs, beat);
    send(count);
  }

  beat();
  return {
    heard() {
      heardAt = clock.now();
      allowedMs = heartbeatLostMs;
    },
    echo(echoed) {
      if (echoed === count) roundTripMs = clock.now() - sentAt;
    },
    doubt() {
      heardAt = clock.now();
      allowedMs = 2 * heartbeatMs;
    },
    get roundTripMs() {
      return roundTripMs;
    },
    stop: () => cancel(),
  };
}
