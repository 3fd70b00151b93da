/** The links of one device, by peer: made, counted, closed, sent over. What a frame means is not known here. */
import { StarlingError } from '../protocol/errors.ts';
import type { RunFrame, TensorHeader } from '../protocol/frame.ts';
import type { MessageChannelLike } from './channel.ts';
import type { Clock } from './clock.ts';
import { createLink, type Link } from './link.ts';
import type { LinkStats } from './linkStats.ts';
import type { Verdict } from './reassembly.ts';

export interface DeviceLinksOptions {
  readonly clock: Clock;
  readonly accept: (peer: string, header: TensorHeader) => Verdict;
  readonly onFrame: (peer: string, frame: RunFrame) => void;
  readonly onLost: (peer: string, reason: StarlingError) => void;
}

export class DeviceLinks {
  readonly #options: DeviceLinksOptions;
  readonly #links = new Map<string, Link>();

  constructor(options: DeviceLinksOptions) {
    this.#options = options;
  }

  get peers(): readonly string[] {
    return [...this.#links.keys()];
  }

  /** Resolves when both ends hear each other. Rejects PEER_UNREACHABLE or PROTOCOL_VERSION. */
  async connect(peer: string, channel: MessageChannelLike): Promise<void> {
    this.disconnect(peer);
    const { clock, accept, onFrame, onLost } = this.#options;
    const link: Link = createLink({
      channel,
      clock,
      peer,
      accept: (header) => accept(peer, header),
      onFrame: (frame) => onFrame(peer, frame),
      onClose: (reason) => {
        if (this.#links.get(peer) === link) this.#links.delete(peer);
        onLost(peer, reason);
      },
    });
    this.#links.set(peer, link);
    await link.opened;
  }

  disconnect(peer: string): void {
    this.#links.get(peer)?.close();
  }

  stats(peer: string): LinkStats | undefined {
    return this.#links.get(peer)?.stats();
  }

  /** Resolves when the frame is with the channel; rejects PEER_LOST. */
  async send(peer: string, frame: RunFrame): Promise<void> {
    const link = this.#links.get(peer);
    if (link === undefined) throw new StarlingError('PEER_LOST', `Device "${peer}" is not connected.`);
    await link.send(frame);
  }

  /** A word about a run. A peer that cannot be told is gone, and its runs with it. */
  tell(peer: string, frame: RunFrame): void {
    this.#links
      .get(peer)
      ?.send(frame)
      .catch(() => {});
  }

  /** Frees parts of frames that nobody waits for any more. */
  discard(where: (header: TensorHeader) => boolean): void {
    for (const link of this.#links.values()) link.discard(where);
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
  }
}
