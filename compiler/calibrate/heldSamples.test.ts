import { expect, test } from 'vitest';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import { batchSize, type Calibration } from './calibration.ts';
import { heldSamples } from './heldSamples.ts';
import type { Batch } from './prefix.ts';
import { smallBatches } from './smallBatches.ts';

/** Sample i holds [i, -i], in batches of 7. */
function numbered(samples: number): Calibration {
  return {
    samples,
    *batches() {
      for (let start = 0; start < samples; start += 7) {
        const count = Math.min(7, samples - start);
        const values = Array.from({ length: count }, (_, i) => [start + i, -(start + i)]).flat();
        yield { x: float32Tensor([count, 2], values) };
      }
    },
  };
}

async function read(calibration: Calibration): Promise<Batch[]> {
  const batches: Batch[] = [];
  for await (const batch of calibration.batches()) batches.push(batch);
  return batches;
}

test.each([
  [100, 10],
  [100, 99],
  [23, 1],
  [5000, 64],
])('of %i samples %i are held, spread evenly, each whole', async (samples, count) => {
  const held = await heldSamples(numbered(samples), count);
  expect(held.samples).toBe(count);
  const batches = await read(held);
  expect(batches.map(batchSize).reduce((a, b) => a + b, 0)).toBe(count);
  expect(Math.max(...batches.map(batchSize))).toBeLessThanOrEqual(7);
  const values = batches.flatMap(({ x }) => (x === undefined ? [] : [...float32View(x)]));
  const numbers = values.filter((_, i) => i % 2 === 0);
  expect(values.filter((_, i) => i % 2 === 1)).toEqual(numbers.map((value) => -value));
  for (const [i, number] of numbers.entries()) {
    expect(number).toBeGreaterThanOrEqual(Math.floor((i * samples) / count));
    expect(number).toBeLessThan(Math.ceil(((i + 1) * samples) / count));
  }
});

test.each([1, 3, 7, 100])('in batches of %i at most, all samples come in their order', async (largest) => {
  const small = smallBatches(numbered(23), largest);
  const batches = await read(small);
  expect(Math.max(...batches.map(batchSize))).toBe(Math.min(largest, 7));
  const values = batches.flatMap(({ x }) => (x === undefined ? [] : [...float32View(x)]));
  expect(values).toEqual(Array.from({ length: 23 }, (_, i) => [i, -i]).flat());
  expect(small.samples).toBe(23);
});

test('a model that takes one sample at a time gets them one by one; all samples are not copied', async () => {
  const held = await heldSamples(numbered(30), 4, 1);
  expect((await read(held)).map(batchSize)).toEqual([1, 1, 1, 1]);
  const all = numbered(30);
  expect(await heldSamples(all, 30)).toBe(all);
});
