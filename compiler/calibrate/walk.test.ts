import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { blockNetwork, blockPictures } from '../../tests/support/blockNetwork.ts';
import type { Calibration } from './calibration.ts';
import { type Observed, openPrefix } from './prefix.ts';
import { Walk } from './walk.ts';

const backend = await createHeapBackend();
const steps = [['pictures'], ['x0', 'stem'], ['rectified1', 'x0'], ['sum1'], ['logits', 'x1']];

test.each([
  ['everything kept', 1e9],
  ['nothing kept', 0],
  ['some batches kept', 5000],
])('every step shows what a run from the inputs shows: %s', async (_, keptBytes) => {
  const model = await blockNetwork(backend, 8, 1);
  const pictures = blockPictures(20, 8);
  const names = [...new Set(steps.flat())];
  const prefix = await openPrefix(model, names, backend);
  const expected: ReadonlyMap<string, Observed>[] = [];
  for await (const batch of pictures.batches()) expected.push(await prefix.run(batch));
  await prefix.release();
  let readings = 0;
  const calibration: Calibration = {
    samples: pictures.samples,
    batches() {
      readings++;
      return pictures.batches();
    },
  };
  const walk = new Walk({ backend, calibration, steps, keptBytes });
  for (const [step, values] of steps.entries()) {
    let batch = 0;
    for await (const seen of walk.observe(model, step)) {
      for (const name of values) {
        expect(seen.get(name)?.dims).toEqual(expected[batch]?.get(name)?.dims);
        expect([...(seen.get(name)?.data ?? [])]).toEqual([...(expected[batch]?.get(name)?.data ?? [])]);
      }
      batch++;
    }
    expect(batch).toBe(3);
  }
  expect(readings).toBe(keptBytes === 1e9 ? 1 : steps.length);
});
