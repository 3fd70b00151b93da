/**
 * Where the time of one run went, device by device, from its timeline. Between two stages a device waits for the
 * other to have something (peer), for it to arrive (network), and then for its own event loop (local).
 */
import type { RunTimeline, StageSpan, TransferSpan } from '../protocol/timeline.ts';

export interface DeviceBreakdown {
  readonly computeMs: number;
  /** From the end of a computation until what it sends is with the channel: reading, packing, posting. */
  readonly serialiseMs: number;
  readonly peerMs: number;
  readonly networkMs: number;
  /** Everything was there and nothing ran: messages to take in, turns of the event loop, engine calls. */
  readonly localMs: number;
  /** After the last stage, until the host had every output. */
  readonly tailMs: number;
}

export function breakdownOf({ devices, transfers, totalMs }: RunTimeline): DeviceBreakdown[] {
  const tensors = new Map(
    transfers.flatMap((one) => (one.kind === 'tensor' ? [[one.id, one] as const] : [])),
  );
  return devices.map(({ stages }, device) => {
    const feeds = transfers.filter(({ kind, to }) => kind === 'input' && to === device);
    const sums = { computeMs: 0, serialiseMs: 0, peerMs: 0, networkMs: 0, localMs: 0 };
    let freeMs = 0;
    for (const span of stages) {
      const cause = span.waitedFor === null ? latest(feeds) : tensors.get(span.waitedFor);
      const { peerMs, networkMs, localMs } = gap(freeMs, span, cause);
      sums.peerMs += peerMs;
      sums.networkMs += networkMs;
      sums.localMs += localMs;
      sums.computeMs += span.computedMs - span.startMs;
      sums.serialiseMs += span.endMs - span.computedMs;
      freeMs = Math.max(freeMs, span.endMs);
    }
    return { ...sums, tailMs: Math.max(0, totalMs - freeMs) };
  });
}

function latest(transfers: readonly TransferSpan[]): TransferSpan | undefined {
  return transfers.reduce<TransferSpan | undefined>(
    (last, one) => ((one.arrivedMs ?? 0) >= (last?.arrivedMs ?? 0) ? one : last),
    undefined,
  );
}

function gap(freeMs: number, { startMs }: StageSpan, cause: TransferSpan | undefined) {
  const length = Math.max(0, startMs - freeMs);
  const within = (ms: number | null | undefined) => Math.min(Math.max(ms ?? freeMs, freeMs), startMs);
  if (length === 0) return { peerMs: 0, networkMs: 0, localMs: 0 };
  const queued = within(cause?.queuedMs);
  const arrived = Math.max(queued, within(cause?.arrivedMs));
  return { peerMs: queued - freeMs, networkMs: arrived - queued, localMs: startMs - arrived };
}
