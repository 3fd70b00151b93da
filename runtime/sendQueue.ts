/**
 * The messages that wait for a channel's buffer, first in, first out, a promise per frame. It is told when it may
 * go on (`pump`) and never polls.
 */
import type { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import type { MessageChannelLike } from './channel.ts';

interface Queued {
  readonly messages: readonly Uint8Array<ArrayBuffer>[];
  next: number;
  readonly resolve: () => void;
  readonly reject: (reason: StarlingError) => void;
}

export class SendQueue {
  #queue: Queued[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get empty(): boolean {
    return this.#queue.length === 0;
  }

  /** Resolves when the last message is handed to the channel; rejects with what `fail` is told. */
  push(messages: readonly Uint8Array<ArrayBuffer>[]): Promise<void> {
    for (const message of messages) this.#bytes += message.byteLength;
    return new Promise((resolve, reject) => {
      this.#queue.push({ messages, next: 0, resolve, reject });
    });
  }

  /** Sends until the channel's buffer is full; `post` says whether the channel took the message. */
  pump(channel: MessageChannelLike, post: (message: Uint8Array<ArrayBuffer>) => boolean): void {
    for (;;) {
      const head = this.#queue[0];
      const message = head?.messages[head.next];
      if (head === undefined || message === undefined) return;
      if (channel.bufferedAmount > limits.channelBufferedBytes) return;
      const { byteLength } = message;
      if (!post(message)) return;
      this.#bytes -= byteLength;
      head.next++;
      if (head.next < head.messages.length) continue;
      this.#queue.shift();
      head.resolve();
    }
  }

  fail(reason: StarlingError): void {
    const queue = this.#queue;
    this.#queue = [];
    this.#bytes = 0;
    for (const queued of queue) queued.reject(reason);
  }
}
