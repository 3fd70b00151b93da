/** A calibration in batches no larger than a model, or the memory, can take. */
import { batchSize, type Calibration } from './calibration.ts';
import { joinedSamples, sampleAt } from './heldSamples.ts';

/** `largest` is 1 for models that take no batches. */
export function smallBatches(calibration: Calibration, largest: number): Calibration {
  return {
    ...calibration,
    async *batches() {
      for await (const batch of calibration.batches()) {
        const size = batchSize(batch);
        if (size <= largest) {
          yield batch;
          continue;
        }
        for (let start = 0; start < size; start += largest) {
          const count = Math.min(largest, size - start);
          yield joinedSamples(Array.from({ length: count }, (_, i) => sampleAt(batch, start + i)));
        }
      }
    },
  };
}
