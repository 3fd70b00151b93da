/**
 * One connection to one other page, for one attempt: descriptions signed and verified, hello exchanged, heartbeat,
 * farewell. It ends once and is never revived; making a new one is the mesh's task.
 */
import { type Capabilities, type ControlMessage, parseControlMessage } from '../../protocol/control.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { SignalDescription, SignalPayload } from '../../protocol/signaling.ts';
import { protocolVersion } from '../../protocol/version.ts';
import { systemClock } from '../clock.ts';
import { signFingerprints, verifyFingerprints } from './fingerprints.ts';
import { type Heartbeat, startHeartbeat } from './heartbeat.ts';
import type { Peer, PeerEnd, PeerOptions } from './peerApi.ts';
import { createConnection, type LinkPath } from './simplePeer.ts';
import { unreachableReason } from './unreachableReason.ts';

/** Time for the farewell to go out before the connection is cut. */
const farewellMs = 100;

export type * from './peerApi.ts';

/**
 * Starts connecting. An initiator makes its offer by itself; the other end is given the offer with `signal`.
 * @throws StarlingError PEER_UNREACHABLE where this browser cannot connect at all
 */
export function createPeer(options: PeerOptions): Peer {
  const { localId, remoteId, room, attempt, initiator, secretKey, clock = systemClock } = options;
  const device = `Device ${remoteId.slice(0, 8)}`;
  let state: 'connecting' | 'connected' | 'ended' = 'connecting';
  let heard = false;
  let described = false;
  let open = false;
  let capabilities: Capabilities | null = null;
  let heartbeat: Heartbeat | null = null;
  let path: LinkPath | null = null;
  let localCandidates = 0;
  let remoteCandidates = 0;
  const waiting: SignalPayload[] = [];

  function end(how: PeerEnd | null, cutInMs = 0): void {
    if (state === 'ended') return;
    state = 'ended';
    cancelTimeout();
    heartbeat?.stop();
    if (cutInMs === 0) connection.destroy();
    else clock.after(cutInMs, () => connection.destroy());
    if (how !== null) options.onEnd(how);
  }

  function fail(error: StarlingError, cutInMs = 0): void {
    end(state === 'connected' ? { type: 'lost', error } : { type: 'failed', error }, cutInMs);
  }

  function unreachable(cause?: unknown): StarlingError {
    const relayOnly = options.iceTransportPolicy === 'relay';
    const iceState = connection.iceState();
    const why = unreachableReason({
      initiator,
      heard,
      localCandidates,
      remoteCandidates,
      relayOnly,
      iceState,
      open,
    });
    return new StarlingError('PEER_UNREACHABLE', `${device} could not be reached: ${why}.`, { cause });
  }

  /** Runs what may throw a StarlingError; such an error ends the peer. */
  function guarded(action: () => void): void {
    try {
      action();
    } catch (thrown) {
      const error = StarlingError.from(thrown, 'INTERNAL', `${device} sent what failed here`);
      // The other page should hear why, as far as it can be told.
      const told = transmit({ type: 'error', ...error.toJSON() });
      fail(error, told ? farewellMs : 0);
    }
  }

  function transmit(message: ControlMessage): boolean {
    return connection.sendText(JSON.stringify(message));
  }

  function sendDescription(role: 'offer' | 'answer', sdp: string): void {
    const signed = { room, from: localId, to: remoteId, role, attempt, sdp };
    const mac = secretKey === null ? null : signFingerprints(secretKey, signed);
    described = true;
    options.sendSignal({ kind: role, attempt, sdp, mac });
    for (const payload of waiting.splice(0)) options.sendSignal(payload);
  }

  function takeDescription({ kind, sdp, mac }: SignalDescription): void {
    // One description from each end; the library would renegotiate on a second one, unverified states included.
    if (heard || (kind === 'offer') === initiator) return;
    verifyFingerprints(secretKey, { room, from: remoteId, to: localId, role: kind, attempt, sdp }, mac);
    heard = true;
    remoteCandidates += sdp.match(/^a=candidate:/gm)?.length ?? 0;
    connection.takeDescription(kind, sdp);
  }

  function receive(message: ControlMessage): void {
    heartbeat?.heard();
    switch (message.type) {
      case 'hello':
        if (message.deviceId !== remoteId) {
          throw new StarlingError(
            'MESSAGE_INVALID',
            `${device} was expected to say hello, but it calls itself ${message.deviceId.slice(0, 8)}.`,
          );
        }
        capabilities = message.capabilities;
        greet();
        break;
      case 'heartbeat':
        transmit({ type: 'heartbeat-echo', count: message.count });
        break;
      case 'heartbeat-echo':
        heartbeat?.echo(message.count);
        break;
      case 'bye':
        end({ type: 'left' });
        break;
      case 'error':
        fail(new StarlingError(message.code, `${device} refused this one: ${message.message}`));
        break;
      case 'room':
        if (state === 'connected') options.onMessage(message.message);
        break;
    }
  }

  /** Connected is who has sent a hello and got one. */
  function greet(): void {
    if (!open || capabilities === null || state !== 'connecting') return;
    state = 'connected';
    cancelTimeout();
    heartbeat = startHeartbeat({
      clock,
      send: (count) => transmit({ type: 'heartbeat', count }),
      onLost: (silentMs) =>
        fail(
          new StarlingError('PEER_LOST', `${device} has said nothing for ${(silentMs / 1000).toFixed(1)} s.`),
        ),
    });
    void connection.path().then((found) => {
      path = found;
    });
    options.onConnected(capabilities);
  }

  const connection = createConnection({
    initiator,
    iceServers: options.iceServers,
    iceTransportPolicy: options.iceTransportPolicy,
    onDescription: (kind, sdp) => guarded(() => sendDescription(kind, sdp)),
    onCandidate({ candidate = '', sdpMid = null, sdpMLineIndex = null }) {
      if (candidate !== '') localCandidates += 1;
      const payload = { kind: 'candidate', attempt, candidate, sdpMid, sdpMLineIndex } as const;
      if (described) options.sendSignal(payload);
      else waiting.push(payload);
    },
    onOpen() {
      open = true;
      transmit({ type: 'hello', protocolVersion, deviceId: localId, capabilities: options.capabilities });
      greet();
    },
    onText: (text) => {
      if (state !== 'ended') guarded(() => receive(parseControlMessage(text)));
    },
    onEnd(error) {
      if (state === 'connected') {
        const why = error === null ? 'its connection was closed' : error.message;
        fail(new StarlingError('PEER_LOST', `${device} is gone: ${why}.`, { cause: error }));
      } else if (state === 'connecting') fail(unreachable(error));
    },
  });
  const cancelTimeout = clock.after(limits.peerConnectMs, () => fail(unreachable()));
  guarded(() => options.onTensorChannel(connection.tensorChannel));

  return {
    attempt,
    get connected() {
      return state === 'connected';
    },
    get path() {
      return path;
    },
    get roundTripMs() {
      return heartbeat?.roundTripMs ?? null;
    },
    signal(payload) {
      if (state === 'ended' || payload.attempt !== attempt || payload.kind === 'ended') return;
      if (payload.kind !== 'candidate') {
        guarded(() => takeDescription(payload));
        return;
      }
      const { candidate, sdpMid, sdpMLineIndex } = payload;
      if (candidate !== '') remoteCandidates += 1;
      connection.takeCandidate({ candidate, sdpMid, sdpMLineIndex });
    },
    sendText: (text) => state === 'connected' && connection.sendText(text),
    openChannel: (number) => (state === 'connected' ? connection.openChannel(number) : null),
    doubt: () => heartbeat?.doubt(),
    close(reason) {
      if (state === 'ended') return;
      const said = transmit({ type: 'bye', reason });
      end(null, said ? farewellMs : 0);
    },
  };
}
