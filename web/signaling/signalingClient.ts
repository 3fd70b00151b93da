/**
 * A page's membership of a room on the signaling server: who else is there, and messages to them.
 * It holds the WebSocket and brings it back while the room is wanted; connections between pages are not its task.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import {
  type IceServer,
  parseRoomName,
  type ServerMessage,
  type SignalPayload,
} from '../../protocol/signaling.ts';
import { randomHex } from '../randomHex.ts';
import { type Membership, openMembership, unreachable } from './membership.ts';
import { signalingAddress } from './signalingAddress.ts';
import type { SignalingClient, SignalingEvent, SignalingOptions } from './signalingApi.ts';

export type * from './signalingApi.ts';

/** Trying again cannot help against these. */
const finalCodes: readonly string[] = ['PROTOCOL_VERSION', 'ROOM_NAME_INVALID', 'MESSAGE_INVALID'];

/** Events that are kept for the first subscriber, at most. */
const keptEvents = 1000;

/**
 * Joins a room.
 * @throws StarlingError SIGNALING_UNREACHABLE, ROOM_FULL, ROOM_LIMIT, ROOM_NAME_INVALID, PROTOCOL_VERSION; the signal's reason
 */
export async function connectSignaling(options: SignalingOptions): Promise<SignalingClient> {
  const client = new Client(options);
  await client.join();
  return client;
}

class Client implements SignalingClient {
  readonly room: string;
  readonly #address: string;
  readonly #ticket = randomHex(32);
  readonly #createSocket: (address: string) => WebSocket;
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #members = new Set<string>();
  readonly #listeners = new Set<(event: SignalingEvent) => void>();
  #kept: SignalingEvent[] | null = [];
  #id = '';
  #iceServers: readonly IceServer[] = [];
  #state: SignalingClient['state'] = 'reconnecting';
  #membership: Membership | null = null;
  #unansweredPings = 0;
  #pings: ReturnType<typeof setInterval> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;

  constructor(options: SignalingOptions) {
    this.room = parseRoomName(options.room);
    this.#address = signalingAddress(options.url, globalThis.location?.href);
    this.#createSocket = options.createSocket ?? ((address) => new WebSocket(address));
    this.#signal = options.signal;
  }

  get id(): string {
    return this.#id;
  }

  get members(): ReadonlySet<string> {
    return this.#members;
  }

  get iceServers(): readonly IceServer[] {
    return this.#iceServers;
  }

  get state(): SignalingClient['state'] {
    return this.#state;
  }

  send(to: string, payload: SignalPayload): boolean {
    return this.#membership?.send({ type: 'signal', to, payload }) ?? false;
  }

  subscribe(listener: (event: SignalingEvent) => void): () => void {
    this.#listeners.add(listener);
    const kept = this.#kept ?? [];
    this.#kept = null;
    for (const event of kept) listener(event);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#end(null);
  }

  /** The first joining, or one after a loss; rejects where it fails. */
  async join(): Promise<void> {
    const signals = [this.#ending.signal, ...(this.#signal === undefined ? [] : [this.#signal])];
    await openMembership({
      address: this.#address,
      room: this.room,
      ticket: this.#ticket,
      createSocket: this.#createSocket,
      signal: AbortSignal.any(signals),
      onJoined: (membership) => this.#take(membership),
      onMessage: (message) => this.#receive(message),
      onLost: (error) => this.#lose(error),
    });
  }

  #take(membership: Membership): void {
    if (this.#state === 'closed') {
      membership.close();
      return;
    }
    const again = this.#id !== '';
    const { id, iceServers, members, pingMs } = membership.joined;
    this.#membership = membership;
    this.#id = id;
    this.#iceServers = iceServers;
    this.#state = 'open';
    this.#failures = 0;
    this.#unansweredPings = 0;
    this.#pings = setInterval(() => this.#ping(), pingMs);
    this.#takeMembers(new Set(members), again);
    if (again) this.#emit({ type: 'reconnected' });
    else this.#signal?.addEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = () => this.#end(null);

  readonly #tryNow = () => {
    if (this.#retry === undefined) return;
    clearTimeout(this.#retry);
    this.#rejoin();
  };

  /** What changed while this page was away is told as if it had been heard. */
  #takeMembers(now: ReadonlySet<string>, tell: boolean): void {
    for (const id of [...this.#members]) {
      if (now.has(id)) continue;
      this.#members.delete(id);
      if (tell) this.#emit({ type: 'member-left', id, reason: 'lost' });
    }
    for (const id of now) {
      if (this.#members.has(id)) continue;
      this.#members.add(id);
      if (tell) this.#emit({ type: 'member-joined', id });
    }
  }

  #receive(message: Exclude<ServerMessage, { type: 'joined' }>): void {
    this.#unansweredPings = 0;
    switch (message.type) {
      case 'member-joined':
        this.#members.add(message.id);
        this.#emit(message);
        break;
      case 'member-left':
        this.#members.delete(message.id);
        this.#emit(message);
        break;
      case 'signal':
        this.#emit(message);
        break;
      case 'error':
        this.#emit({ type: 'refused', error: new StarlingError(message.code, message.message) });
        break;
      case 'pong':
        break;
    }
  }

  /** Counts pings, not time: a page whose timers were held back has not lost its connection. */
  #ping(): void {
    if (this.#unansweredPings >= 2) {
      this.#membership?.close();
      this.#lose(unreachable(this.#address, 'it does not answer any more'));
      return;
    }
    this.#unansweredPings += 1;
    this.#membership?.send({ type: 'ping' });
  }

  #lose(error: StarlingError): void {
    clearInterval(this.#pings);
    this.#membership = null;
    if (this.#state === 'closed') return;
    this.#state = 'reconnecting';
    const { signalingRetryFirstMs: first, signalingRetryLastMs: last } = limits;
    // Chance keeps the members of a room from coming back all at once.
    const retryInMs = Math.min(last, first * 2 ** this.#failures) * (0.5 + Math.random() / 2);
    this.#failures += 1;
    globalThis.addEventListener?.('online', this.#tryNow);
    this.#retry = setTimeout(() => this.#rejoin(), retryInMs);
    this.#emit({ type: 'reconnecting', error, retryInMs });
  }

  #rejoin(): void {
    this.#retry = undefined;
    globalThis.removeEventListener?.('online', this.#tryNow);
    this.join().catch((thrown) => {
      if (this.#state === 'closed') return;
      const error = StarlingError.from(thrown, 'SIGNALING_UNREACHABLE');
      if (finalCodes.includes(error.code)) this.#end(error);
      else this.#lose(error);
    });
  }

  #end(error: StarlingError | null): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    clearInterval(this.#pings);
    clearTimeout(this.#retry);
    this.#retry = undefined;
    globalThis.removeEventListener?.('online', this.#tryNow);
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#membership?.close();
    this.#membership = null;
    this.#ending.abort(error);
    this.#emit({ type: 'closed', error });
  }

  #emit(event: SignalingEvent): void {
    if (this.#kept !== null) {
      if (this.#kept.length < keptEvents) this.#kept.push(event);
      return;
    }
    for (const listener of [...this.#listeners]) listener(event);
  }
}
