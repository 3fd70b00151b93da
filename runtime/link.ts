/**
 * A link: frames to and from one peer over one channel. It greets, splits and joins, keeps the order of calls, waits
 * where the channel's buffer is full, counts, and measures the round trip. What frames mean is the executor's.
 */
import { decodeFrame } from '../protocol/decodeFrame.ts';
import { encodeFrame } from '../protocol/encodeFrame.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { ControlFrame, RunFrame, TensorHeader, TensorPart } from '../protocol/frame.ts';
import { frameVersion } from '../protocol/frameLayout.ts';
import { limits } from '../protocol/limits.ts';
import type { Link, LinkOptions } from './linkApi.ts';
import { LinkCounters, type LinkStats } from './linkStats.ts';
import { Reassembly } from './reassembly.ts';
import { RoundTrip } from './roundTrip.ts';
import { SendQueue } from './sendQueue.ts';

export type * from './linkApi.ts';

export function createLink(options: LinkOptions): Link {
  return new ChannelLink(options);
}

class ChannelLink implements Link {
  readonly opened: Promise<void>;
  readonly #options: LinkOptions;
  readonly #reassembly: Reassembly;
  readonly #queue = new SendQueue();
  readonly #roundTrip = new RoundTrip();
  readonly #counters = new LinkCounters();
  #state: 'greeting' | 'open' | 'closed' = 'greeting';
  #resolveOpened = () => {};
  #rejectOpened: (reason: StarlingError) => void = () => {};
  #cancelHello = () => {};
  #cancelGreet = () => {};
  #cancelPing = () => {};
  #heardAt: number;
  #lost: StarlingError | null = null;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#reassembly = new Reassembly({ accept: options.accept });
    this.opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve;
      this.#rejectOpened = reject;
    });
    // Whoever does not wait for the opening still hears of a failure through onClose.
    this.opened.catch(() => {});

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
    // Not before the caller has its link.
    if (channel.readyState !== 'connecting') queueMicrotask(() => this.#begin());
  }

  send(frame: RunFrame): Promise<void> {
    if (this.#lost !== null) return Promise.reject(this.#lost);
    let messages: Uint8Array<ArrayBuffer>[];
    try {
      messages = encodeFrame(frame, this.#options.chunkBytes);
    } catch (error) {
      return Promise.reject(StarlingError.from(error, 'MESSAGE_INVALID'));
    }
    const handed = this.#queue.push(messages);
    this.#pump();
    return handed;
  }

  discard(where: (header: TensorHeader) => boolean): void {
    this.#reassembly.discard(where);
  }

  stats(): LinkStats {
    return {
      ...this.#counters.read(),
      queuedBytes: this.#queue.bytes,
      reassemblyBytes: this.#reassembly.bytes,
      roundTripMs: this.#roundTrip.smoothedMs,
      minRoundTripMs: this.#roundTrip.minMs,
      silentMs: this.#options.clock.now() - this.#heardAt,
    };
  }

  close(): void {
    this.#close('PEER_LOST', 'this device closed the link');
  }

  #begin(): void {
    if (this.#options.channel.readyState === 'open') this.#hello();
    else this.#close('PEER_LOST', 'its channel was closed already');
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
    this.#resolveOpened();
    this.#pump();
    this.#tick();
  }

  #pump(): void {
    if (this.#state === 'open') this.#queue.pump(this.#options.channel, (message) => this.#post(message));
  }

  #post(message: Uint8Array<ArrayBuffer>): boolean {
    const bytes = message.byteLength;
    const { channel } = this.#options;
    if (channel.readyState !== 'open') {
      // Firefox calls bufferedamountlow while the peer's close arrives, and then takes messages it never sends.
      this.#close('PEER_LOST', 'its channel is closing');
      return false;
    }
    try {
      channel.send(message);
    } catch (error) {
      this.#close('PEER_LOST', 'its channel refused a message', error);
      return false;
    }
    this.#counters.sent(bytes);
    return true;
  }

  #sendControl(frame: ControlFrame): void {
    if (this.#options.channel.readyState !== 'open') return;
    for (const message of encodeFrame(frame)) this.#post(message);
  }

  #receive(data: unknown): void {
    if (this.#state === 'closed') return;
    this.#heardAt = this.#options.clock.now();
    const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
    if (!(bytes instanceof Uint8Array)) {
      this.#counters.dropped('notBytes');
      return;
    }
    this.#counters.received(bytes.byteLength);
    const decoded = decodeFrame(bytes);
    if (!decoded.ok) {
      this.#counters.dropped(decoded.reason);
      if (decoded.reason === 'version' && this.#state === 'greeting')
        this.#close('PROTOCOL_VERSION', `it does not speak version ${frameVersion} of the tensor channel`);
      return;
    }
    const { frame } = decoded;
    if ('dims' in frame) this.#join(frame);
    else if (frame.kind === 'abort' || frame.kind === 'record') this.#options.onFrame(frame);
    else if (frame.kind === 'ping') this.#sendControl({ kind: 'pong', sequence: frame.sequence });
    else if (frame.kind === 'pong') {
      if (!this.#roundTrip.finish(frame.sequence, this.#heardAt)) this.#counters.dropped('unasked');
    } else {
      // Whoever greets is there and listens: the answer to it arrives, and so does everything after.
      if (frame.kind === 'hello') this.#sendControl({ kind: 'helloAck' });
      this.#greeted();
    }
  }

  #join(part: TensorPart): void {
    const result = this.#reassembly.add(part);
    if (result.state === 'dropped') this.#counters.dropped(result.reason);
    else if (result.state === 'whole') this.#options.onFrame(result.frame);
  }

  /** A ping that waits behind data is no measure, so none is sent while data queues. */
  #tick(): void {
    if (this.#state !== 'open') return;
    const { clock, lostMs = limits.linkLostMs, pingMs = limits.heartbeatMs } = this.#options;
    const now = clock.now();
    const sequence = this.#queue.empty ? this.#roundTrip.start(now) : null;
    if (sequence !== null) this.#sendControl({ kind: 'ping', sequence });
    this.#cancelPing = clock.after(pingMs, () => {
      // Late because this Worker computed: messages of the peer may wait behind this very callback.
      const late = clock.now() - now > 2 * pingMs;
      if (!late && clock.now() - this.#heardAt > lostMs)
        this.#close('PEER_LOST', `it has been silent for ${lostMs} ms`);
      this.#tick();
    });
  }

  #close(code: 'PEER_LOST' | 'PEER_UNREACHABLE' | 'PROTOCOL_VERSION', why: string, cause?: unknown): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    const { peer } = this.#options;
    const who = peer === undefined ? 'the peer' : `device ${peer}`;
    const reason = new StarlingError(code, `The link to ${who} has ended: ${why}.`, { cause });
    this.#lost = reason;
    this.#cancelHello();
    this.#cancelGreet();
    this.#cancelPing();
    const { channel } = this.#options;
    channel.onmessage = channel.onopen = channel.onclose = channel.onbufferedamountlow = null;
    channel.close();
    this.#reassembly.discard(() => true);
    this.#rejectOpened(reason);
    this.#queue.fail(reason);
    this.#options.onClose(reason);
  }
}
