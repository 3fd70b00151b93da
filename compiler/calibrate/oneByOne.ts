/** A calibration's samples one at a time, for models that take no batches. */
import { batchSize, type Calibration } from './calibration.ts';
import { sampleAt } from './heldSamples.ts';

export function oneByOne(calibration: Calibration): Calibration {
  return {
    ...calibration,
    async *batches() {
      for await (const batch of calibration.batches()) {
        if (batchSize(batch) === 1) yield batch;
        else for (let i = 0; i < batchSize(batch); i++) yield sampleAt(batch, i);
      }
    },
  };
}
