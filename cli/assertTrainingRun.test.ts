import { expect, test } from 'vitest';
import { assertTrainingRun } from './assertTrainingRun.ts';
import type { TrainingRun } from './trainingRun.ts';

const labels = { type: 'classify', labelWeight: 1, smoothing: 0, teacherWeight: 0, temperature: 1 } as const;
const both = { ...labels, labelWeight: 0.2, teacherWeight: 0.8 } as const;

const run: TrainingRun = {
  name: 'model',
  objective: both,
  steps: 60,
  batch: 16,
  size: [8, 8],
  numShards: 2,
  keep: 0.2,
  levels: [0.4, 0.1, 0.05, 0],
  scope: 'uniform',
  owners: 'contiguous',
  wire: 'float32',
  optimiser: 'sgd',
  rate: 0.05,
  fall: 'linear',
  weightDecay: 0,
  clipNorm: 5,
  seed: 1,
};

test('what a training may begin with passes', () => {
  assertTrainingRun(run, false);
  assertTrainingRun({ ...run, numShards: 1, keep: 1, levels: [], start: 'random', objective: labels }, false);
  assertTrainingRun({ ...run, start: 'random' }, true);
});

test.each([
  ['levels that no step reaches', { steps: 6 }, /at least 13 steps/],
  ['a single shard that is thinned', { numShards: 1 }, /exchanges nothing/],
  ['random weights as a teacher', { start: 'random' }, /nothing to imitate/],
  ['and of a task that has no labels', { start: 'random', objective: { type: 'restore' } }, /to imitate/],
] as const)('%s: refused', (_, changes, message) => {
  expect(() => assertTrainingRun({ ...run, ...changes }, false)).toThrow(message);
});
