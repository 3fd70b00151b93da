/** Two ends of a link on a network in memory, on a clock that is moved by hand, and what each of them was told. */
import type { StarlingError } from '../../protocol/errors.ts';
import type { Frame, TensorFrame } from '../../protocol/frame.ts';
import type { MessageChannelLike } from '../../runtime/channel.ts';
import { createLink, type Link, type LinkOptions } from '../../runtime/link.ts';
import { ManualClock } from '../../runtime/manualClock.ts';
import { createMemoryNetwork } from '../../runtime/memoryChannel.ts';

export interface End {
  readonly link: Link;
  readonly frames: Frame[];
  readonly closed: StarlingError[];
}

export function end(channel: MessageChannelLike, clock: ManualClock, more: Partial<LinkOptions> = {}): End {
  const frames: Frame[] = [];
  const closed: StarlingError[] = [];
  const link = createLink({
    channel,
    clock,
    accept: () => 'accept',
    onFrame: (frame) => frames.push(frame),
    onClose: (reason) => closed.push(reason),
    ...more,
  });
  return { link, frames, closed };
}

export function connected(
  more: Partial<LinkOptions> = {},
  shape?: { bytesPerSecond: number; latencyMs: number },
) {
  const clock = new ManualClock();
  const network = createMemoryNetwork(shape === undefined ? {} : { shape: { clock, ...shape } });
  const [left, right] = network.pair();
  return { clock, network, left, right, a: end(left, clock, more), b: end(right, clock, more) };
}

export function tensor(transfer: number, bytes: number): TensorFrame {
  const data = Uint8Array.from({ length: bytes }, (_, i) => i * 13 + transfer);
  return { kind: 'tensor', epoch: 1, run: 1, transfer, dataType: 'uint8', dims: [bytes], data };
}
