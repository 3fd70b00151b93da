/**
 * An analysis with a part of its samples: selections are compared by fits to fewer rows, all to the same ones, which costs
 * a fraction and puts them in the same order. Chooses nothing.
 */
import type { Analysis } from './analyse.ts';
import type { Batch } from './calibrate/prefix.ts';

/** Parts at most: one in so many batches is fitted to. */
const mostParts = 6;
/** Batches that a trial has at least, where there are as many: some are left out of every fit. */
const leastBatches = 6;

export function trialAnalysis(analysis: Analysis): Analysis {
  const { held, dense } = analysis;
  const batches = Math.max(0, ...[...dense.values()].map(({ length }) => length));
  const parts = Math.min(mostParts, Math.floor(batches / leastBatches));
  if (parts < 2) return analysis;
  const isTaken = (_: unknown, index: number) => index % parts === 0;
  return {
    ...analysis,
    held: {
      samples: Math.ceil(held.samples / parts),
      async *batches(): AsyncGenerator<Batch> {
        let index = 0;
        for await (const batch of held.batches()) if (isTaken(batch, index++)) yield batch;
      },
    },
    dense: new Map([...dense].map(([contraction, rows]) => [contraction, rows.filter(isTaken)])),
  };
}
