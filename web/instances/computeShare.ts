/**
 * How much of a batch's time is computing where its host computes nothing: only the devices know, and tell it in a
 * timeline. One batch in many is asked for one; it makes the answer a little later.
 */
import type { RunTimeline } from '../../protocol/timeline.ts';

const everyBatches = 16;

export class ComputeShare {
  #batches = 0;
  #share: number | null = null;

  /** Asked once for each batch: whether it is to have a timeline. */
  next(): boolean {
    return this.#batches++ % everyBatches === 0;
  }

  note({ devices, totalMs }: RunTimeline): void {
    const computing = devices.map(({ stages }) =>
      stages.reduce((sum, { startMs, computedMs }) => sum + computedMs - startMs, 0),
    );
    if (totalMs > 0) this.#share = Math.min(1, Math.max(...computing) / totalMs);
  }

  /** Milliseconds of `totalMs`; null before the first timeline. */
  of(totalMs: number): number | null {
    return this.#share === null ? null : this.#share * totalMs;
  }
}
