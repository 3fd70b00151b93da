/** What is said of a thinned plan's answers is what is known of them. */
import { expect, test } from 'vitest';
import type { PlanFile } from '../protocol/plan.ts';
import { sparseTable } from './sparseText.ts';

const costs = { macsPerShard: [2, 1], weightBytesPerShard: [8, 4], rounds: 3, exchangedBytes: 100 };
const heldOut = { samples: 7, agreement: 1, largestError: 0.25, relativeRms: 0.125 };

function tableOf(shape: readonly number[], known: Partial<NonNullable<PlanFile['sparse']>>): string[] {
  const plan = {
    outputs: [{ name: 'y', dataType: 'float32', shape }],
    report: costs,
    sparse: { sentFeatures: 1, denseFeatures: 4, keptBytes: 0.2, dense: costs, ...known },
  };
  return sparseTable([plan as unknown as PlanFile])
    .split('\n')
    .slice(2);
}

test('scores agree or not; of pictures only the error is told', () => {
  expect(tableOf([1, 10], { heldOut })[0]).toMatch(/ 100\.0 % +0\.250 +12\.5 %/);
  const [picture = ''] = tableOf([1, 3, 8, 8], { heldOut });
  expect(picture).toMatch(/0\.250 +12\.5 %/);
  expect(picture).not.toContain('100.0 %');
});

test('of answers that nobody looked at nothing is told', () => {
  expect(tableOf([1, 10], {})[0]).not.toContain('%');
});
