/** What a page has of the signaling server: a membership of a room, what it sends, and what it is told. Types only. */
import type { StarlingError } from '../../protocol/errors.ts';
import type { Departure, IceServer, SignalPayload } from '../../protocol/signaling.ts';

export type SignalingEvent =
  | { readonly type: 'member-joined'; readonly id: string }
  | { readonly type: 'member-left'; readonly id: string; readonly reason: Departure }
  | { readonly type: 'signal'; readonly from: string; readonly payload: SignalPayload }
  /** The server answered something this page sent with an error; the membership goes on. */
  | { readonly type: 'refused'; readonly error: StarlingError }
  | { readonly type: 'reconnecting'; readonly error: StarlingError; readonly retryInMs: number }
  | { readonly type: 'reconnected' }
  /** Nothing follows. `error` is null where `close` was called. */
  | { readonly type: 'closed'; readonly error: StarlingError | null };

export interface SignalingOptions {
  /** ws: or wss: address, or the http: or https: address of the server (`/signaling` is added). */
  readonly url: string;
  readonly room: string;
  /** Ends the joining, and later the membership. */
  readonly signal?: AbortSignal;
  /** Where the platform has no WebSocket of its own. */
  readonly createSocket?: (address: string) => WebSocket;
}

export interface SignalingClient {
  /** This member, 32 hexadecimal digits; the device id everywhere. Stays the same after a reconnection. */
  readonly id: string;
  readonly room: string;
  /** The others that are in the room now, without this one. */
  readonly members: ReadonlySet<string>;
  readonly iceServers: readonly IceServer[];
  readonly state: 'open' | 'reconnecting' | 'closed';
  /** Relays to one member; false where there is no connection now (nothing is kept for later). */
  send(to: string, payload: SignalPayload): boolean;
  /** Events since the joining are kept for the first subscriber. Returns what ends the subscription. */
  subscribe(listener: (event: SignalingEvent) => void): () => void;
  /** Leaves the room. */
  close(): void;
}
