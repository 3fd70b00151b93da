/**
 * Channels inside one process, for `starling verify` and tests: a network of pairs that delivers asynchronously,
 * in order within a pair, and in any order between pairs where a source of randomness is given. No loss.
 */
import type { MessageChannelLike } from './channel.ts';
import type { Clock } from './clock.ts';

export interface MemoryNetworkOptions {
  /** In [0, 1); picks which direction delivers next. Without it, messages arrive in the order they were sent. */
  readonly random?: () => number;
  /** A link of this speed and delay, the same for every direction; without it, messages arrive at once. */
  readonly shape?: {
    readonly clock: Clock;
    readonly bytesPerSecond: number;
    /** One way. */
    readonly latencyMs: number;
  };
}

export interface MemoryNetwork {
  /** Two ends that are connected and open. */
  pair(): [MessageChannelLike, MessageChannelLike];
  /** What has been delivered so far, all pairs together. */
  readonly deliveredBytes: number;
  readonly deliveredMessages: number;
}

export function createMemoryNetwork(options: MemoryNetworkOptions = {}): MemoryNetwork {
  return new Network(options);
}

class Network implements MemoryNetwork {
  deliveredBytes = 0;
  deliveredMessages = 0;
  readonly #options: MemoryNetworkOptions;
  /** One entry per message that is on its way: its receiver. A receiver delivers its own oldest message. */
  readonly #due: MemoryChannel[] = [];

  constructor(options: MemoryNetworkOptions) {
    this.#options = options;
  }

  pair(): [MessageChannelLike, MessageChannelLike] {
    const a = new MemoryChannel((receiver, bytes) => this.#carry(receiver, bytes));
    const b = new MemoryChannel((receiver, bytes) => this.#carry(receiver, bytes));
    a.peer = b;
    b.peer = a;
    return [a, b];
  }

  #carry(receiver: MemoryChannel, bytes: number): void {
    const { shape } = this.#options;
    if (shape === undefined) {
      this.#due.push(receiver);
      // A microtask each: asynchronous like a network, and a thousand rounds take no thousand timers.
      queueMicrotask(() => this.#deliverNext());
      return;
    }
    const now = shape.clock.now();
    const sender = receiver.peer;
    const start = Math.max(now, receiver.lineFreeAt);
    receiver.lineFreeAt = start + (bytes / shape.bytesPerSecond) * 1000;
    shape.clock.after(receiver.lineFreeAt - now, () => sender?.left(bytes));
    shape.clock.after(receiver.lineFreeAt - now + shape.latencyMs, () => this.#deliver(receiver));
  }

  #deliverNext(): void {
    const { random } = this.#options;
    const index = random === undefined ? 0 : Math.floor(random() * this.#due.length);
    const [receiver] = this.#due.splice(index, 1);
    if (receiver !== undefined) this.#deliver(receiver);
  }

  #deliver(receiver: MemoryChannel): void {
    const message = receiver.incoming.shift();
    if (message === undefined) return;
    if (message === null) {
      receiver.shut();
      return;
    }
    if (this.#options.shape === undefined) receiver.peer?.left(message.byteLength);
    if (receiver.readyState !== 'open') return;
    this.deliveredBytes += message.byteLength;
    this.deliveredMessages++;
    receiver.onmessage?.(new MessageEvent('message', { data: message }));
  }
}

class MemoryChannel implements MessageChannelLike {
  readyState: 'open' | 'closed' = 'open';
  bufferedAmount = 0;
  bufferedAmountLowThreshold = 0;
  binaryType: 'blob' | 'arraybuffer' = 'arraybuffer';
  onopen: MessageChannelLike['onopen'] = null;
  onmessage: MessageChannelLike['onmessage'] = null;
  onbufferedamountlow: MessageChannelLike['onbufferedamountlow'] = null;
  onclose: MessageChannelLike['onclose'] = null;
  /** The other end; set once, by the network. */
  peer: MemoryChannel | null = null;
  /** null: the other end has closed; what it sent before still arrives, as on a data channel. */
  readonly incoming: (Uint8Array<ArrayBuffer> | null)[] = [];
  /** When the line towards this end has carried everything before. */
  lineFreeAt = 0;
  readonly #carry: (receiver: MemoryChannel, bytes: number) => void;

  constructor(carry: (receiver: MemoryChannel, bytes: number) => void) {
    this.#carry = carry;
  }

  send(message: Uint8Array<ArrayBuffer>): void {
    const { peer } = this;
    if (this.readyState !== 'open' || peer === null)
      throw new DOMException('The channel is not open.', 'InvalidStateError');
    this.bufferedAmount += message.byteLength;
    peer.incoming.push(message);
    this.#carry(peer, message.byteLength);
  }

  left(bytes: number): void {
    const before = this.bufferedAmount;
    this.bufferedAmount -= bytes;
    const low = this.bufferedAmountLowThreshold;
    if (this.readyState === 'open' && before > low && this.bufferedAmount <= low)
      this.onbufferedamountlow?.(new Event('bufferedamountlow'));
  }

  close(): void {
    const { peer } = this;
    if (this.readyState === 'closed' || peer === null) return;
    this.shut();
    peer.incoming.push(null);
    this.#carry(peer, 0);
  }

  shut(): void {
    if (this.readyState === 'closed') return;
    this.readyState = 'closed';
    queueMicrotask(() => this.onclose?.(new Event('close')));
  }
}
