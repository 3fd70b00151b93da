/** The sample inputs of a calibration, which is read several times, and how progress through them is told. */
import { StarlingError } from '../../protocol/errors.ts';
import type { Batch } from './prefix.ts';

export interface Calibration {
  readonly samples: number;
  /** Class of each sample, where they are known: for reports alone. */
  readonly labels?: ArrayLike<number>;
  /** From the first sample again at every call; each batch holds one or more samples along the first axis. */
  batches(): AsyncIterable<Batch> | Iterable<Batch>;
}

/** Samples in a batch. */
export function batchSize(batch: Batch): number {
  const [first] = Object.values(batch);
  return first?.dims[0] ?? 0;
}

/** Throws CALIBRATION_INVALID where there is nothing to learn from. */
export function assertCalibration({ samples }: Calibration): void {
  if (Number.isInteger(samples) && samples > 0) return;
  throw new StarlingError(
    'CALIBRATION_INVALID',
    `Calibration needs at least one sample input, got ${samples}; give a folder or file that holds some.`,
  );
}

/** Throws CALIBRATION_INVALID where an element is no finite number. */
export function assertFinite(values: Float32Array, what: string): void {
  // One sum tells: zero times NaN or infinity is NaN.
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += 0 * (values[i] as number);
  if (sum === 0) return;
  throw new StarlingError(
    'CALIBRATION_INVALID',
    `${what} is expected to hold finite numbers, got NaN or infinity; check the calibration inputs and how they are scaled.`,
  );
}
