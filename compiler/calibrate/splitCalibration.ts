/** Part of a calibration is held out: nothing is fitted to it, so that a report on it is honest. */
import { batchSize, type Calibration } from './calibration.ts';
import type { Batch } from './prefix.ts';

export interface Split {
  readonly fitted: Calibration;
  /** At most `most` samples and a batch; empty where there is only one batch. */
  readonly heldOut: readonly Batch[];
  /** Of the held out samples, in order, where the calibration has labels. */
  readonly labels?: readonly number[];
}

/** One batch of so many is held out. */
const every = 8;

/** The middle one of every eight batches, so that also two batches leave one. */
const isHeldOut = (index: number, batches: number) => index % every === Math.min(every, batches) >> 1;

export async function splitCalibration(calibration: Calibration, most: number): Promise<Split> {
  let batches = 0;
  // More than these make no difference, and reading may mean decoding pictures.
  for await (const _ of calibration.batches()) if (++batches === every) break;
  if (batches < 2) return { fitted: calibration, heldOut: [] };
  const heldOut: Batch[] = [];
  const labels: number[] = [];
  let seen = 0;
  let kept = 0;
  let left = 0;
  let index = 0;
  for await (const batch of calibration.batches()) {
    const size = batchSize(batch);
    if (isHeldOut(index++, batches)) {
      left += size;
      if (kept < most) {
        heldOut.push(batch);
        kept += size;
        for (let i = seen; i < seen + size; i++) labels.push(calibration.labels?.[i] ?? -1);
      }
    }
    seen += size;
  }
  const fitted: Calibration = {
    samples: calibration.samples - left,
    async *batches() {
      let at = 0;
      for await (const batch of calibration.batches()) if (!isHeldOut(at++, batches)) yield batch;
    },
  };
  return { fitted, heldOut, ...(calibration.labels === undefined ? {} : { labels }) };
}
