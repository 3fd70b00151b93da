/**
 * A page's membership of a room on the signaling server: who else is there, and messages to them.
 * It holds the WebSocket and brings it back while the room is wanted; connections between pages are not its task.
 */
import { StarlingError } from '../../protocol/errors.ts';
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

/**
 * Joins a room.
 * @throws StarlingError SIGNALING_UNREACHABLE, ROOM_FULL, ROOM_LIMIT, ROOM_NAME_INVALID, PROTOCOL_VERSION; the signal's reason
 */
export async function connectSignaling(_options: SignalingOptions): Promise<SignalingClient> {
  throw new StarlingError('SIGNALING_UNREACHABLE', 'The signaling client is not there yet.');
}
