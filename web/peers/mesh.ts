/**
 * One peer for each other member of the room: who offers, when a peer is made again, what the room hears of it.
 * How one connection comes about is peer.ts; which device computes what is not decided here.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { SignalDescription, SignalPayload } from '../../protocol/signaling.ts';
import { type Clock, systemClock } from '../clock.ts';
import { randomHex } from '../randomHex.ts';
import { encodeRoomMessage } from './encodeRoomMessage.ts';
import { deriveRoomKey, verifyFingerprints } from './fingerprints.ts';
import type { Mesh, MeshOptions, MeshPeer } from './meshApi.ts';
import { entryName, MeshEntry, unreachable } from './meshEntry.ts';
import { createPeer, type Peer, type PeerEnd } from './peer.ts';

export type * from './meshApi.ts';

/** Trying again cannot help against these; the member has to come back as another. */
const finalCodes: readonly string[] = ['PEER_UNTRUSTED', 'PROTOCOL_VERSION'];

/** Offers that are remembered per member; one that makes more is not answered any more. */
const rememberedOffers = 10_000;

/** Connects to everybody in the room and to whoever joins, until `close`. */
export function createMesh(options: MeshOptions): Mesh {
  return new PeerMesh(options);
}

class PeerMesh implements Mesh {
  readonly deviceId: string;
  readonly #options: MeshOptions;
  readonly #clock: Clock;
  readonly #secretKey: Uint8Array | null;
  readonly #entries = new Map<string, MeshEntry>();
  #unsubscribe: () => void = () => {};
  #closed = false;

  constructor(options: MeshOptions) {
    const { signaling, secret } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.deviceId = signaling.id;
    this.#secretKey = secret === undefined || secret === '' ? null : deriveRoomKey(secret, signaling.room);
    queueMicrotask(() => this.#start());
  }

  get peers(): ReadonlyMap<string, MeshPeer> {
    return this.#entries;
  }

  send(deviceId: string, message: object): boolean {
    return this.#entries.get(deviceId)?.peer?.sendText(encodeRoomMessage(message)) ?? false;
  }

  openChannel(deviceId: string, number: number): RTCDataChannel | null {
    return this.#entries.get(deviceId)?.peer?.openChannel(number) ?? null;
  }

  broadcast(message: object): void {
    const text = encodeRoomMessage(message);
    for (const { peer } of this.#entries.values()) peer?.sendText(text);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#unsubscribe();
    for (const entry of this.#entries.values()) {
      entry.cancelTimer();
      entry.peer?.close('the device leaves the room');
    }
    this.#entries.clear();
  }

  #start(): void {
    if (this.#closed) return;
    const { signaling } = this.#options;
    for (const id of signaling.members) this.#add(id);
    this.#unsubscribe = signaling.subscribe((event) => {
      if (event.type === 'member-joined') this.#add(event.id);
      else if (event.type === 'member-left') this.#miss(event.id);
      else if (event.type === 'signal') this.#signal(event.from, event.payload);
      else if (event.type === 'reconnected') this.#resume();
    });
  }

  /** Of two members the one with the smaller id makes the offers: never both. */
  #offers(entry: MeshEntry): boolean {
    return this.deviceId < entry.deviceId;
  }

  #add(id: string): void {
    const known = this.#entries.get(id);
    // Who comes back to the server may have been connected all the time.
    if (id === this.deviceId || (known !== undefined && known.state !== 'failed')) return;
    const entry = new MeshEntry(id);
    known?.cancelTimer();
    this.#entries.set(id, entry);
    this.#begin(entry);
  }

  /** The server does not see that member any more; a connection may live on without it. */
  #miss(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    if (entry.state === 'connected') entry.peer?.doubt();
    else {
      entry.cancelTimer();
      entry.peer?.close('the device has left the room');
      this.#entries.delete(id);
      this.#options.onEvent({ type: 'peer-left', deviceId: id });
    }
  }

  /** What was sent while the server was away has not arrived. */
  #resume(): void {
    for (const entry of this.#entries.values()) {
      if (entry.state !== 'connected' && !entry.final) this.#begin(entry);
    }
  }

  /** Makes an offer, or waits for one. */
  #begin(entry: MeshEntry): void {
    entry.cancelTimer();
    if (this.#offers(entry)) {
      this.#connect(entry, randomHex(16));
      return;
    }
    if (entry.peer !== null) return;
    entry.state = 'waiting';
    entry.cancelTimer = this.#clock.after(limits.peerConnectMs, () => {
      const error = unreachable(entry, 'no offer came from it');
      entry.state = 'failed';
      this.#options.onEvent({ type: 'peer-failed', deviceId: entry.deviceId, error, retryInMs: null });
    });
  }

  #connect(entry: MeshEntry, attempt: string): Peer | null {
    const { signaling, onEvent, onTensorChannel, iceServers, iceTransportPolicy, capabilities } =
      this.#options;
    const { deviceId } = entry;
    entry.cancelTimer();
    entry.peer?.close('the connection is made again');
    if (entry.state === 'connected') {
      const error = new StarlingError('PEER_LOST', `${entryName(entry)} makes its connection again.`);
      onEvent({ type: 'peer-lost', deviceId, error });
    }
    entry.peer = null;
    entry.capabilities = null;
    entry.state = 'connecting';
    onEvent({ type: 'peer-connecting', deviceId });
    let over = false;
    const ended = (how: PeerEnd) => {
      over = true;
      this.#ended(entry, attempt, how);
    };
    try {
      const peer = createPeer({
        room: signaling.room,
        localId: this.deviceId,
        remoteId: deviceId,
        attempt,
        initiator: this.#offers(entry),
        iceServers: iceServers ?? signaling.iceServers,
        iceTransportPolicy: iceTransportPolicy ?? 'all',
        secretKey: this.#secretKey,
        capabilities,
        clock: this.#clock,
        sendSignal: (payload) => signaling.send(deviceId, payload),
        onTensorChannel: (channel) => onTensorChannel(deviceId, channel),
        onConnected: (theirs) => {
          entry.state = 'connected';
          entry.capabilities = theirs;
          entry.failures = 0;
          onEvent({ type: 'peer-connected', deviceId, capabilities: theirs });
        },
        onMessage: (message) => onEvent({ type: 'message', deviceId, message }),
        onEnd: ended,
      });
      if (over) return null;
      entry.peer = peer;
      return peer;
    } catch (thrown) {
      ended({ type: 'failed', error: StarlingError.from(thrown, 'PEER_UNREACHABLE') });
      return null;
    }
  }

  /** @param tell whether the other end has yet to hear of it */
  #ended(entry: MeshEntry, attempt: string, how: PeerEnd, tell = true): void {
    const { signaling, onEvent } = this.#options;
    const { deviceId } = entry;
    const member = signaling.members.has(deviceId);
    entry.peer = null;
    entry.capabilities = null;
    entry.state = 'failed';
    if (how.type === 'left') {
      this.#entries.delete(deviceId);
      onEvent({ type: 'peer-left', deviceId });
      return;
    }
    const { code, message } = how.error;
    entry.final = finalCodes.includes(code);
    if (!member) this.#entries.delete(deviceId);
    else if (tell) signaling.send(deviceId, { kind: 'ended', attempt, code, message: message.slice(0, 500) });
    const retryInMs = Math.min(limits.peerRetryLastMs, limits.peerRetryFirstMs * 2 ** entry.failures);
    const again = member && !entry.final;
    entry.failures += 1;
    if (again && this.#offers(entry)) {
      entry.cancelTimer = this.#clock.after(retryInMs, () => this.#begin(entry));
    } else if (again) entry.state = 'waiting';
    if (how.type === 'lost') onEvent({ type: 'peer-lost', deviceId, error: how.error });
    else onEvent({ type: 'peer-failed', deviceId, error: how.error, retryInMs: again ? retryInMs : null });
  }

  #signal(from: string, payload: SignalPayload): void {
    // Who said bye and is still a member may make another offer.
    if (!this.#entries.has(from) && payload.kind === 'offer') this.#add(from);
    const entry = this.#entries.get(from);
    if (entry === undefined) return;
    if (payload.kind === 'offer') this.#takeOffer(entry, payload);
    else if (payload.kind !== 'ended') entry.peer?.signal(payload);
    // The server could say this too, so a connection that stands ends only by its own signs.
    else if (entry.state === 'connecting' && entry.peer?.attempt === payload.attempt) {
      entry.peer.close('the other device has ended this attempt');
      const error = new StarlingError(
        payload.code,
        `${entryName(entry)} has ended the attempt: ${payload.message}`,
      );
      this.#ended(entry, payload.attempt, { type: 'failed', error }, false);
    }
  }

  #takeOffer(entry: MeshEntry, offer: SignalDescription): void {
    const { attempt, sdp, mac } = offer;
    if (this.#offers(entry) || entry.offers.has(attempt) || entry.offers.size >= rememberedOffers) return;
    entry.offers.add(attempt);
    if (entry.state === 'connected') {
      // A forged offer must not end a connection that stands: look at it before making room.
      const { room } = this.#options.signaling;
      const signed = { room, from: entry.deviceId, to: this.deviceId, role: 'offer', attempt, sdp } as const;
      try {
        verifyFingerprints(this.#secretKey, signed, mac);
      } catch {
        return;
      }
    }
    this.#connect(entry, attempt)?.signal(offer);
  }
}
