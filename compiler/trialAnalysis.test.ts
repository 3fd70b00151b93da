import { expect, test } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { blockNetwork, blockPictures } from '../tests/support/blockNetwork.ts';
import { analyse } from './analyse.ts';
import { batchSize } from './calibrate/calibration.ts';
import { openPrefix } from './calibrate/prefix.ts';
import { trialAnalysis } from './trialAnalysis.ts';

const backend = await createHeapBackend();
const model = await blockNetwork(backend, 8, 1);
const analysed = (samples: number, batch: number) =>
  analyse(model, { numShards: 2, backend, calibration: blockPictures(samples, batch), rows: 1000 });

test('a trial is of fewer samples, and its targets are those of the same ones', async () => {
  const analysis = await analysed(500, 10);
  const trial = trialAnalysis(analysis);
  const [contraction] = trial.contractions;
  if (contraction === undefined) throw new Error('There is nothing to fit.');
  const target = trial.targets.get(contraction);
  const prefix = await openPrefix(model, [target?.value ?? ''], backend);
  let [samples, index] = [0, 0];
  for await (const batch of trial.held.batches()) {
    samples += batchSize(batch);
    const { data, dims } = (await prefix.run(batch)).get(target?.value ?? '') ?? { data: [], dims: [] };
    const rows = trial.dense.get(contraction)?.[index++];
    const inner = (dims[2] ?? 1) * (dims[3] ?? 1);
    const position = rows?.positions[0] ?? 0;
    expect(rows?.targets[0]).toBe(
      data[Math.floor(position / inner) * (dims[1] ?? 1) * inner + (position % inner)],
    );
  }
  await prefix.release();
  expect(trial.dense.get(contraction)).toHaveLength(index);
  expect(index).toBeGreaterThanOrEqual(6);
  expect(samples).toBeLessThan(analysis.held.samples / 3);
  expect(trial.judged).toBe(analysis.judged);
});

test('few batches are not parted', async () => {
  const analysis = await analysed(60, 10);
  expect(trialAnalysis(analysis)).toBe(analysis);
});
