/** What a link counts, and the figures it shows of itself. */
import type { Malformed } from '../protocol/decodeFrame.ts';
import type { PartDropped } from './reassembly.ts';

/** Why an incoming message was thrown away; `notBytes` is a text message. */
export type DropReason = Malformed | PartDropped | 'notBytes';

export interface LinkCounts {
  /** Bytes of messages, headers included. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly sentMessages: number;
  readonly receivedMessages: number;
  /** Incoming messages thrown away, by reason. */
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
}

export interface LinkStats extends LinkCounts {
  /** Bytes that wait here because the channel's buffer is full or the peer has not greeted. */
  readonly queuedBytes: number;
  /** Bytes held for incoming frames that are not whole yet. */
  readonly reassemblyBytes: number;
  /** Smoothed and smallest round trip; null before the first. A peer that computes answers late. */
  readonly roundTripMs: number | null;
  readonly minRoundTripMs: number | null;
  /** Since the last message of the peer. */
  readonly silentMs: number;
}

export class LinkCounters {
  #sentBytes = 0;
  #receivedBytes = 0;
  #sentMessages = 0;
  #receivedMessages = 0;
  readonly #dropped: Partial<Record<DropReason, number>> = {};

  sent(bytes: number): void {
    this.#sentBytes += bytes;
    this.#sentMessages++;
  }

  received(bytes: number): void {
    this.#receivedBytes += bytes;
    this.#receivedMessages++;
  }

  dropped(reason: DropReason): void {
    this.#dropped[reason] = (this.#dropped[reason] ?? 0) + 1;
  }

  read(): LinkCounts {
    return {
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
      sentMessages: this.#sentMessages,
      receivedMessages: this.#receivedMessages,
      dropped: { ...this.#dropped },
    };
  }
}
