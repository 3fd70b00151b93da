/** What one attempt at a connection is given, how it ends, and what its owner may ask of it. Types only. */
import type { Capabilities } from '../../protocol/control.ts';
import type { StarlingError } from '../../protocol/errors.ts';
import type { IceServer, SignalPayload } from '../../protocol/signaling.ts';
import type { Clock } from '../clock.ts';
import type { LinkPath } from './simplePeer.ts';

export type PeerEnd =
  | { readonly type: 'left' }
  /** Was connected: PEER_LOST. */
  | { readonly type: 'lost'; readonly error: StarlingError }
  /** Never was: PEER_UNREACHABLE, PEER_UNTRUSTED, PROTOCOL_VERSION, MESSAGE_INVALID. */
  | { readonly type: 'failed'; readonly error: StarlingError };

export interface PeerOptions {
  readonly room: string;
  readonly localId: string;
  readonly remoteId: string;
  /** 32 hexadecimal digits; the initiator draws them, the other end takes them from the offer. */
  readonly attempt: string;
  readonly initiator: boolean;
  readonly iceServers: readonly IceServer[];
  readonly iceTransportPolicy: RTCIceTransportPolicy;
  /** From deriveRoomKey; null where the room has no secret. */
  readonly secretKey: Uint8Array | null;
  readonly capabilities: Capabilities;
  readonly clock?: Clock;
  sendSignal(payload: SignalPayload): void;
  /** In the task that creates the channel: the only moment at which it can be transferred to a Worker. */
  onTensorChannel(channel: RTCDataChannel): void;
  onConnected(capabilities: Capabilities): void;
  onMessage(message: unknown): void;
  /** Once, and nothing follows; not after `close`. */
  onEnd(end: PeerEnd): void;
}

export interface Peer {
  readonly attempt: string;
  readonly connected: boolean;
  readonly roundTripMs: number | null;
  /** Direct or through a TURN server; null until it is known. */
  readonly path: LinkPath | null;
  /** A relayed message of this attempt. */
  signal(payload: SignalPayload): void;
  /** Text from encodeRoomMessage; false where the peer is not connected. */
  sendText(text: string): boolean;
  /** A channel for another pair of Workers; null where the peer is not connected or the number taken. */
  openChannel(number: number): RTCDataChannel | null;
  /** The other page may be gone: ask at once and wait for less. */
  doubt(): void;
  /** Says bye and ends the connection. */
  close(reason: string): void;
}
