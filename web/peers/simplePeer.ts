/**
 * The only file that knows simple-peer: one connection with its control channel, and beside it the tensor
 * channel. Who talks to whom, and about what, is peer.ts.
 */
/// <reference path="./simplePeerModule.d.ts" />
import SimplePeer from 'simple-peer/simplepeer.min.js';
import { StarlingError } from '../../protocol/errors.ts';
import type { IceServer } from '../../protocol/signaling.ts';

/** Both ends create the tensor channel under this number, and none is announced. */
const tensorChannel = { label: 'tensors', id: 7 } as const;

export interface ConnectionOptions {
  readonly initiator: boolean;
  /** All that are used; the library's own, which belong to others, never are. */
  readonly iceServers: readonly IceServer[];
  readonly iceTransportPolicy: RTCIceTransportPolicy;
  onDescription(kind: 'offer' | 'answer', sdp: string): void;
  onCandidate(candidate: RTCIceCandidateInit): void;
  /** The control channel is open. */
  onOpen(): void;
  onText(text: string): void;
  /** Once; nothing follows. `error` is null where the other end closed, or `destroy` was called. */
  onEnd(error: Error | null): void;
}

export type LinkPath = 'direct' | 'relay';

export interface Connection {
  /** Ordered and reliable; just created, so that it can still be transferred to a Worker in this task. */
  readonly tensorChannel: RTCDataChannel;
  /** The last one before the end. */
  iceState(): RTCIceConnectionState;
  takeDescription(kind: 'offer' | 'answer', sdp: string): void;
  takeCandidate(candidate: RTCIceCandidateInit): void;
  /**
   * One more channel as `tensorChannel` is, under a number that both ends use; nothing is announced. Null where the
   * connection is over or the number taken.
   */
  openChannel(number: number): RTCDataChannel | null;
  /** False where the channel is not open. */
  sendText(text: string): boolean;
  /** Whether what is sent goes through a TURN server; null before a way is chosen, and where the browser does not say. */
  path(): Promise<LinkPath | null>;
  destroy(): void;
}

/** @throws StarlingError PEER_UNREACHABLE where this browser cannot make connections */
export function createConnection(options: ConnectionOptions): Connection {
  const peer = construct(options);
  const pc = peer._pc;
  let failure: Error | null = null;
  let iceState: RTCIceConnectionState = 'new';
  // Chromium drops what arrives before its own end exists: create it before anything is signalled.
  const channel = pc?.createDataChannel(tensorChannel.label, { negotiated: true, id: tensorChannel.id });
  if (pc === undefined || channel === undefined) {
    peer.on('error', () => {});
    throw noConnection('RTCPeerConnection could not be created; are the ICE servers right?');
  }
  channel.binaryType = 'arraybuffer';
  peer.on('signal', ({ type, sdp, candidate }) => {
    if ((type === 'offer' || type === 'answer') && sdp !== undefined) options.onDescription(type, sdp);
    else if (candidate !== undefined) options.onCandidate(candidate);
  });
  peer.on('iceStateChange', (state) => {
    if (state !== 'closed') iceState = state;
  });
  peer.on('connect', () => options.onOpen());
  peer.on('data', (data) => options.onText(typeof data === 'string' ? data : ''));
  peer.on('error', (error) => {
    failure = error;
  });
  peer.on('close', () => options.onEnd(failure));
  return {
    tensorChannel: channel,
    iceState: () => iceState,
    takeDescription(type, sdp) {
      if (!peer.destroyed) peer.signal({ type, sdp });
    },
    takeCandidate(candidate) {
      if (peer.destroyed) return;
      // The library ends the whole connection at a candidate that cannot be read; it is only of no use.
      if (pc.remoteDescription === null) peer.signal({ candidate });
      else pc.addIceCandidate(candidate).catch(() => {});
    },
    openChannel(number) {
      if (peer.destroyed) return null;
      try {
        const opened = pc.createDataChannel(`instance ${number}`, { negotiated: true, id: number });
        opened.binaryType = 'arraybuffer';
        return opened;
      } catch {
        return null;
      }
    },
    sendText(text) {
      if (peer.destroyed || peer._channel?.readyState !== 'open') return false;
      try {
        peer.send(text);
        return true;
      } catch {
        // The send buffer is full: nothing has left for so long that nothing will.
        peer.destroy();
        return false;
      }
    },
    async path() {
      // A map of reports; some browsers name the chosen pair in `transport`, others mark the pair itself.
      const reports: Map<string, StatsReport> = new Map(await pc.getStats().catch(() => []));
      const all = [...reports.values()];
      const chosen = all.find(({ type }) => type === 'transport')?.selectedCandidatePairId;
      const pair =
        reports.get(chosen ?? '') ??
        all.find(
          ({ type, state, nominated }) => type === 'candidate-pair' && state === 'succeeded' && nominated,
        );
      const ends = [pair?.localCandidateId, pair?.remoteCandidateId].map((id) => reports.get(id ?? ''));
      if (ends.some((end) => end?.candidateType === 'relay')) return 'relay';
      return ends.every((end) => end !== undefined) ? 'direct' : null;
    },
    destroy: () => peer.destroy(),
  };
}

/** Of the entries of an RTCStatsReport, which TypeScript does not describe, what is read here. */
interface StatsReport {
  readonly type: string;
  readonly state?: string;
  readonly nominated?: boolean;
  readonly selectedCandidatePairId?: string;
  readonly localCandidateId?: string;
  readonly remoteCandidateId?: string;
  readonly candidateType?: string;
}

function construct({ initiator, iceServers, iceTransportPolicy }: ConnectionOptions): SimplePeer {
  const config: RTCConfiguration = {
    iceServers: iceServers.map(toRtc),
    iceTransportPolicy,
  };
  try {
    return new SimplePeer({ initiator, objectMode: true, config });
  } catch (thrown) {
    throw noConnection('this browser has no WebRTC', thrown);
  }
}

function toRtc({ urls, username, credential }: IceServer): RTCIceServer {
  return {
    urls,
    ...(username === undefined ? {} : { username }),
    ...(credential === undefined ? {} : { credential }),
  };
}

function noConnection(why: string, cause?: unknown): StarlingError {
  return new StarlingError(
    'PEER_UNREACHABLE',
    `This device cannot connect to others: ${why}. It can still compute alone.`,
    { cause },
  );
}
