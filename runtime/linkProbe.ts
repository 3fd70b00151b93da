/**
 * What a link costs, measured: a small file and a large one that every device has are asked for, as files of a plan
 * are. The difference is bandwidth, the small one is the round trip.
 */
import { sha256Hex } from '../protocol/sha256.ts';
import type { Clock } from './clock.ts';
import type { FetchFileOptions } from './fileTransfer.ts';
import { type LinkCost, localLink } from './predict/costModel.ts';

/** Large enough to be seen behind a timer's steps, small enough for a slow link: 50 ms at 10 Mbit/s. */
const smallBytes = 64;
const largeBytes = 64 * 1024;
const attempts = 3;

const files = new Map(
  [smallBytes, largeBytes].map((length) => {
    const bytes = new Uint8Array(length);
    return [sha256Hex(bytes), bytes] as const;
  }),
);

/** What every device answers when it is asked for a probe. */
export function probeFile(sha256: string): Uint8Array | undefined {
  return files.get(sha256);
}

/** The best of a few attempts: whatever else goes on can only make a link look slower. Rejects PEER_LOST. */
export async function measureLink(
  fetch: (sha256: string, options: FetchFileOptions) => Promise<Uint8Array | null>,
  clock: Clock,
): Promise<LinkCost> {
  const best = new Map<number, number>();
  for (let attempt = 0; attempt < attempts; attempt++) {
    for (const [sha256, { byteLength: bytes }] of files) {
      const start = clock.now();
      let end = start;
      // Before the hash is looked at, which takes time too.
      const onBytes = () => {
        end = clock.now();
      };
      await fetch(sha256, { path: 'probe', maxBytes: bytes, onBytes });
      best.set(bytes, Math.min(best.get(bytes) ?? Number.POSITIVE_INFINITY, end - start));
    }
  }
  const roundTripMs = best.get(smallBytes) ?? 0;
  const { messageMs, bytesPerMs } = localLink;
  const transferMs = Math.max((best.get(largeBytes) ?? 0) - roundTripMs, 0);
  return {
    roundTripMs: Math.max(0, roundTripMs - 2 * messageMs),
    bytesPerMs: Math.min(bytesPerMs, (largeBytes - smallBytes) / Math.max(transferMs, 1e-3)),
    messageMs,
  };
}
