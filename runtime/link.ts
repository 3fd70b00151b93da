/**
 * A link: frames to and from one peer over one channel. It greets, splits and joins, keeps the order of calls, waits
 * where the channel's buffer is full, counts, and measures the round trip. What frames mean is the executor's.
 */
import { StarlingError } from '../protocol/errors.ts';
import {
  type AbortFrame,
  type ControlFrame,
  decodeFrame,
  encodeFrame,
  frameVersion,
  type Malformed,
  type TensorFrame,
  type TensorHeader,
  type TensorPart,
} from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import type { MessageChannelLike } from './channel.ts';
import type { Clock } from './clock.ts';
import { type PartDropped, Reassembly, type Verdict } from './reassembly.ts';

export type DropReason = Malformed | PartDropped | 'notBytes';

export interface LinkStats {
  /** Bytes of messages, headers included. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly sentMessages: number;
  readonly receivedMessages: number;
  /** Bytes that wait here because the channel's buffer is full or the peer has not greeted. */
  readonly queuedBytes: number;
  /** Bytes of incoming frames that are not whole yet. */
  readonly reassemblyBytes: number;
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
  /** Smoothed and smallest round trip; null before the first. A peer that computes answers late. */
  readonly roundTripMs: number | null;
  readonly minRoundTripMs: number | null;
  /** Since the last message of the peer. */
  readonly silentMs: number;
}

export interface LinkOptions {
  readonly channel: MessageChannelLike;
  readonly clock: Clock;
  /** Asked once per incoming tensor, with its header, before memory is allocated; checks type and dims. */
  readonly accept: (header: TensorHeader) => Verdict;
  /** A whole tensor (its bytes are the receiver's own) or the end of a run. Never called after onClose. */
  readonly onFrame: (frame: TensorFrame | AbortFrame) => void;
  /** Called exactly once, whoever closed. */
  readonly onClose: (reason: StarlingError) => void;
  /** For messages to a person. */
  readonly peer?: string;
  readonly chunkBytes?: number;
  /** A peer that has not greeted by then is given up; default limits.peerConnectMs. */
  readonly greetMs?: number;
  readonly pingMs?: number;
  /**
   * Silence after which the peer counts as lost. Not set by default: a peer that loads a model may block its Worker
   * for longer than any heartbeat, and its page knows better.
   */
  readonly lostMs?: number;
}

export interface Link {
  /** Resolves when the peer hears this end; rejects PEER_UNREACHABLE, PEER_LOST or PROTOCOL_VERSION. */
  readonly opened: Promise<void>;
  /**
   * Frames leave in the order of calls. Copies the bytes before it returns, so the caller may reuse them at once.
   * Resolves when the whole frame is handed to the channel; rejects PEER_LOST when the link closes first,
   * MESSAGE_INVALID or MESSAGE_TOO_LARGE where the frame contradicts itself.
   */
  send(frame: TensorFrame | AbortFrame): Promise<void>;
  /** Frees parts of frames that nobody waits for any more. */
  discard(where: (header: TensorHeader) => boolean): void;
  stats(): LinkStats;
  /** Closes the channel; what is still queued rejects. */
  close(): void;
}

export function createLink(options: LinkOptions): Link {
  return new ChannelLink(options);
}

interface Queued {
  readonly messages: readonly Uint8Array<ArrayBuffer>[];
  next: number;
  readonly resolve: () => void;
  readonly reject: (reason: StarlingError) => void;
}

class ChannelLink implements Link {
  readonly opened: Promise<void>;
  readonly #options: LinkOptions;
  readonly #reassembly: Reassembly;
  readonly #dropped: Partial<Record<DropReason, number>> = {};
  #queue: Queued[] = [];
  #state: 'greeting' | 'open' | 'closed' = 'greeting';
  #settleOpened: { resolve: () => void; reject: (reason: StarlingError) => void };
  #cancelHello = () => {};
  #cancelGreet = () => {};
  #cancelPing = () => {};
  #ping = { sequence: 0, sentAt: 0, waiting: false };
  #sentBytes = 0;
  #receivedBytes = 0;
  #sentMessages = 0;
  #receivedMessages = 0;
  #queuedBytes = 0;
  #roundTripMs: number | null = null;
  #minRoundTripMs: number | null = null;
  #heardAt: number;
  #lost: StarlingError | null = null;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#reassembly = new Reassembly({ accept: options.accept });
    const { promise, resolve, reject } = withResolvers();
    this.opened = promise;
    this.#settleOpened = { resolve, reject };
    // Whoever does not wait for the opening still hears of a failure through onClose.
    promise.catch(() => {});

    const { channel, clock } = options;
    this.#heardAt = clock.now();
    channel.binaryType = 'arraybuffer';
    channel.bufferedAmountLowThreshold = limits.channelLowBytes;
    channel.onmessage = (event) => this.#receive(event.data);
    channel.onbufferedamountlow = () => this.#pump();
    channel.onopen = () => this.#hello();
    channel.onclose = () => this.#close('PEER_LOST', 'its channel closed');
    const greetMs = options.greetMs ?? limits.peerConnectMs;
    this.#cancelGreet = clock.after(greetMs, () =>
      this.#close('PEER_UNREACHABLE', `it has not greeted within ${greetMs} ms`),
    );
    if (channel.readyState === 'open') this.#hello();
    // Not before the caller has its link.
    else if (channel.readyState !== 'connecting')
      queueMicrotask(() => this.#close('PEER_LOST', 'its channel was closed already'));
  }

  send(frame: TensorFrame | AbortFrame): Promise<void> {
    if (this.#lost !== null) return Promise.reject(this.#lost);
    const { promise, resolve, reject } = withResolvers();
    try {
      const messages = encodeFrame(frame, this.#options.chunkBytes);
      for (const message of messages) this.#queuedBytes += message.byteLength;
      this.#queue.push({ messages, next: 0, resolve, reject });
    } catch (error) {
      reject(StarlingError.from(error, 'MESSAGE_INVALID'));
    }
    this.#pump();
    return promise;
  }

  discard(where: (header: TensorHeader) => boolean): void {
    this.#reassembly.discard(where);
  }

  stats(): LinkStats {
    return {
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
      sentMessages: this.#sentMessages,
      receivedMessages: this.#receivedMessages,
      queuedBytes: this.#queuedBytes,
      reassemblyBytes: this.#reassembly.bytes,
      dropped: { ...this.#dropped },
      roundTripMs: this.#roundTripMs,
      minRoundTripMs: this.#minRoundTripMs,
      silentMs: this.#options.clock.now() - this.#heardAt,
    };
  }

  close(): void {
    this.#close('PEER_LOST', 'this device closed the link');
  }

  /** Until the peer answers: what reaches a negotiated channel before its own end exists is lost in Chromium. */
  #hello(): void {
    if (this.#state !== 'greeting') return;
    this.#sendControl({ kind: 'hello' });
    this.#cancelHello();
    this.#cancelHello = this.#options.clock.after(limits.helloMs, () => this.#hello());
  }

  #greeted(): void {
    if (this.#state !== 'greeting') return;
    this.#state = 'open';
    this.#cancelHello();
    this.#cancelGreet();
    this.#settleOpened.resolve();
    this.#pump();
    this.#tick();
  }

  #pump(): void {
    const { channel } = this.#options;
    while (this.#state === 'open') {
      const head = this.#queue[0];
      const message = head?.messages[head.next];
      if (head === undefined || message === undefined) return;
      if (channel.bufferedAmount > limits.channelBufferedBytes) return;
      // Before the send: a channel may take the buffer.
      this.#queuedBytes -= message.byteLength;
      if (!this.#post(message)) return;
      head.next++;
      if (head.next < head.messages.length) continue;
      this.#queue.shift();
      head.resolve();
    }
  }

  #post(message: Uint8Array<ArrayBuffer>): boolean {
    const bytes = message.byteLength;
    try {
      this.#options.channel.send(message);
    } catch (error) {
      this.#close('PEER_LOST', 'its channel refused a message', error);
      return false;
    }
    this.#sentBytes += bytes;
    this.#sentMessages++;
    return true;
  }

  #sendControl(frame: ControlFrame): void {
    if (this.#options.channel.readyState !== 'open') return;
    for (const message of encodeFrame(frame)) this.#post(message);
  }

  #receive(data: unknown): void {
    if (this.#state === 'closed') return;
    this.#heardAt = this.#options.clock.now();
    this.#receivedMessages++;
    const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
    if (!(bytes instanceof Uint8Array)) {
      this.#drop('notBytes');
      return;
    }
    this.#receivedBytes += bytes.byteLength;
    const decoded = decodeFrame(bytes);
    if (!decoded.ok) {
      this.#drop(decoded.reason);
      if (decoded.reason === 'version' && this.#state === 'greeting')
        this.#close('PROTOCOL_VERSION', `it does not speak version ${frameVersion} of the tensor channel`);
      return;
    }
    const { frame } = decoded;
    if ('dims' in frame) this.#join(frame);
    else if (frame.kind === 'abort') this.#options.onFrame(frame);
    else if (frame.kind === 'ping') this.#sendControl({ kind: 'pong', sequence: frame.sequence });
    else if (frame.kind === 'pong') this.#measure(frame.sequence);
    else {
      // Whoever greets is there and listens: the answer to it arrives, and so does everything after.
      if (frame.kind === 'hello') this.#sendControl({ kind: 'helloAck' });
      this.#greeted();
    }
  }

  #join(part: TensorPart): void {
    const result = this.#reassembly.add(part);
    if (result.state === 'dropped') this.#drop(result.reason);
    else if (result.state === 'whole') this.#options.onFrame(result.frame);
  }

  #drop(reason: DropReason): void {
    this.#dropped[reason] = (this.#dropped[reason] ?? 0) + 1;
  }

  /** At most one ping is on its way; one that waits behind data is no measure, so none is sent while data queues. */
  #tick(): void {
    if (this.#state !== 'open') return;
    const { clock, lostMs, pingMs = limits.heartbeatMs } = this.#options;
    const now = clock.now();
    if (!this.#ping.waiting && this.#queue.length === 0) {
      this.#ping = { sequence: this.#ping.sequence + 1, sentAt: now, waiting: true };
      this.#sendControl({ kind: 'ping', sequence: this.#ping.sequence });
    }
    this.#cancelPing = clock.after(pingMs, () => {
      // Late because this Worker computed: messages of the peer may wait behind this very callback.
      const late = clock.now() - now > 2 * pingMs;
      if (lostMs !== undefined && !late && clock.now() - this.#heardAt > lostMs)
        this.#close('PEER_LOST', `it has been silent for ${lostMs} ms`);
      this.#tick();
    });
  }

  #measure(sequence: number): void {
    if (!this.#ping.waiting || sequence !== this.#ping.sequence) {
      this.#drop('unasked');
      return;
    }
    this.#ping.waiting = false;
    const sample = this.#options.clock.now() - this.#ping.sentAt;
    // Weight 1/8, as TCP does (RFC 6298).
    this.#roundTripMs =
      this.#roundTripMs === null ? sample : this.#roundTripMs + (sample - this.#roundTripMs) / 8;
    this.#minRoundTripMs = Math.min(this.#minRoundTripMs ?? sample, sample);
  }

  #close(code: 'PEER_LOST' | 'PEER_UNREACHABLE' | 'PROTOCOL_VERSION', why: string, cause?: unknown): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    const { peer } = this.#options;
    const who = peer === undefined ? 'The peer' : `Device ${peer}`;
    const reason = new StarlingError(code, `${who} cannot be reached: ${why}.`, { cause });
    this.#lost = reason;
    this.#cancelHello();
    this.#cancelGreet();
    this.#cancelPing();
    const { channel } = this.#options;
    channel.onmessage = channel.onopen = channel.onclose = channel.onbufferedamountlow = null;
    channel.close();
    this.#reassembly.discard(() => true);
    const queue = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#settleOpened.reject(reason);
    for (const queued of queue) queued.reject(reason);
    this.#options.onClose(reason);
  }
}

function withResolvers(): {
  promise: Promise<void>;
  resolve: () => void;
  reject: (reason: StarlingError) => void;
} {
  let resolve: () => void = () => {};
  let reject: (reason: StarlingError) => void = () => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
