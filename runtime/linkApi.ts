/** What a link is given and what it does for its owner. Types only. */
import type { StarlingError } from '../protocol/errors.ts';
import type { RunFrame, TensorHeader } from '../protocol/frame.ts';
import type { MessageChannelLike } from './channel.ts';
import type { Clock } from './clock.ts';
import type { LinkStats } from './linkStats.ts';
import type { Verdict } from './reassembly.ts';

export interface LinkOptions {
  readonly channel: MessageChannelLike;
  readonly clock: Clock;
  /** Asked once per incoming tensor, with its header, before memory is allocated; checks type and dims. */
  readonly accept: (header: TensorHeader) => Verdict;
  /** A whole tensor (its bytes are the receiver's own) or a word about a run. Never called after onClose. */
  readonly onFrame: (frame: RunFrame) => void;
  /** Called exactly once, whoever closed. */
  readonly onClose: (reason: StarlingError) => void;
  /** For messages to a person. */
  readonly peer?: string;
  readonly chunkBytes?: number;
  /** A peer that has not greeted by then is given up; default limits.peerConnectMs. */
  readonly greetMs?: number;
  readonly pingMs?: number;
  /** Silence after which the peer counts as lost; default limits.linkLostMs. */
  readonly lostMs?: number;
}

export interface Link {
  /** Resolves when the peer hears this end; rejects PEER_UNREACHABLE, PEER_LOST or PROTOCOL_VERSION. */
  readonly opened: Promise<void>;
  /**
   * Frames leave in the order of calls. Copies the bytes before it returns, so the caller may reuse them at once.
   * Resolves when the whole frame is handed to the channel; rejects PEER_LOST when the link closes first,
   * MESSAGE_INVALID or MESSAGE_TOO_LARGE where the frame contradicts itself.
   */
  send(frame: RunFrame): Promise<void>;
  /** Frees parts of frames that nobody waits for any more. */
  discard(where: (header: TensorHeader) => boolean): void;
  stats(): LinkStats;
  /** Closes the channel; what is still queued rejects. */
  close(): void;
}
