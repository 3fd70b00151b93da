/** What a room asks of its mesh of peers and hears from it: types only, the mesh itself is mesh.ts. */
import type { Capabilities } from '../../protocol/control.ts';
import type { StarlingError } from '../../protocol/errors.ts';
import type { IceServer } from '../../protocol/signaling.ts';
import type { Clock } from '../clock.ts';
import type { SignalingClient } from '../signaling/signalingClient.ts';
import type { LinkPath } from './simplePeer.ts';

export type MeshEvent =
  | { readonly type: 'peer-connecting'; readonly deviceId: string }
  | { readonly type: 'peer-connected'; readonly deviceId: string; readonly capabilities: Capabilities }
  /** Said bye, or left the room before it was connected: forget it. */
  | { readonly type: 'peer-left'; readonly deviceId: string }
  /** Was connected and is gone (PEER_LOST); a new attempt follows while it is a member. */
  | { readonly type: 'peer-lost'; readonly deviceId: string; readonly error: StarlingError }
  /** Never got connected: PEER_UNREACHABLE, PEER_UNTRUSTED, PROTOCOL_VERSION. `retryInMs` null: not tried again. */
  | {
      readonly type: 'peer-failed';
      readonly deviceId: string;
      readonly error: StarlingError;
      readonly retryInMs: number | null;
    }
  /** Parsed JSON of the other room; the receiver checks it against its schema. */
  | { readonly type: 'message'; readonly deviceId: string; readonly message: unknown };

export interface MeshOptions {
  readonly signaling: SignalingClient;
  /** Of this device; goes out with hello. */
  readonly capabilities: Capabilities;
  /** Default: the signaling server's, which may be none. Never anybody else's. */
  readonly iceServers?: readonly IceServer[];
  readonly iceTransportPolicy?: RTCIceTransportPolicy;
  /** Shared by all members and unknown to the server: signs the fingerprints in offers and answers. */
  readonly secret?: string;
  readonly clock?: Clock;
  /**
   * Called in the task that creates the channel, before anything is connected: the only moment at which the
   * channel can be transferred to a Worker. Called again with a new channel when a peer is made again.
   */
  onTensorChannel(deviceId: string, channel: RTCDataChannel): void;
  /** Never called before `createMesh` has returned. */
  onEvent(event: MeshEvent): void;
}

export interface MeshPeer {
  readonly deviceId: string;
  readonly state: 'waiting' | 'connecting' | 'connected' | 'failed';
  /** Null until connected. */
  readonly capabilities: Capabilities | null;
  /** Direct, or relayed by a TURN server; null until it is known. */
  readonly path: LinkPath | null;
  /** Round-trip time of the last heartbeat; null before the first. */
  readonly roundTripMs: number | null;
}

export interface Mesh {
  /** Of this device: the signaling client's id. */
  readonly deviceId: string;
  /** Every other member with the state of its connection, by device id. */
  readonly peers: ReadonlyMap<string, MeshPeer>;
  /** False where that device is not connected. Throws MESSAGE_TOO_LARGE. */
  send(deviceId: string, message: object): boolean;
  /**
   * One more channel to a connected device, under a number that both ends use. To be transferred to a Worker, if at
   * all, in the task of the call. Null where that device is not connected or the number taken.
   */
  openChannel(deviceId: string, number: number): RTCDataChannel | null;
  /** To every connected device. */
  broadcast(message: object): void;
  /** Says bye to every peer and ends all connections; the signaling client is closed by its owner. */
  close(): void;
}
