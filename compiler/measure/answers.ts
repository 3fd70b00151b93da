/** What a divided model answers to sample inputs, and how far that is from the answers of another. */

import type { Model } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';
import { allOnOne } from '../../runtime/lower/placements.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { wholeWeights } from '../../runtime/weights/blob.ts';
import type { Batch } from '../calibrate/prefix.ts';
import { Comparator } from './compare.ts';
import { openLocalRoom } from './localRoom.ts';

export interface DividedModel {
  readonly model: Model;
  readonly division: Division;
}

/** One for each batch. */
export type Answers = Awaited<ReturnType<typeof answersOf>>;

export async function answersOf(
  { model, division }: DividedModel,
  batches: readonly Batch[],
  backend: Backend,
  openBatch: boolean,
) {
  const plan = { model, division, openBatch, weights: wholeWeights(model), warmUp: false };
  const room = await openLocalRoom({ planOf: () => plan, placement: allOnOne(division.numShards), backend });
  const answers = [];
  try {
    for (const batch of batches) answers.push((await room.run({ ...batch })).outputs);
  } finally {
    await room.close();
  }
  return answers;
}

/**
 * Share of samples decided otherwise where the outputs are scores [N, classes]; else the squared error relative to the
 * squared outputs.
 */
export function lossBetween(expected: Answers, got: Answers): number {
  const comparator = new Comparator();
  let scores = true;
  for (const [i, answers] of expected.entries()) {
    comparator.add(answers, got[i] ?? {});
    scores &&= Object.values(answers).every(({ dims }) => dims.length === 2);
  }
  const { agreement, relativeRms } = comparator.result();
  return scores ? 1 - agreement : relativeRms ** 2;
}
