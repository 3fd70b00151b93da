import { expect, test } from 'vitest';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import type { Calibration } from './calibration.ts';
import type { Batch } from './prefix.ts';
import { splitCalibration } from './splitCalibration.ts';

/** Sample i is the number i, its label 10 i, in batches of 3. */
function numbered(samples: number): Calibration {
  return {
    samples,
    labels: Array.from({ length: samples }, (_, i) => 10 * i),
    *batches() {
      for (let start = 0; start < samples; start += 3) {
        const values = Array.from({ length: Math.min(3, samples - start) }, (_, i) => start + i);
        yield { x: float32Tensor([values.length], values) };
      }
    },
  };
}

const numbersOf = (batches: readonly Batch[]) =>
  batches.flatMap(({ x }) => (x === undefined ? [] : [...float32View(x)]));

test.each([[6], [20], [100]])('of %i samples each is fitted or held out, never both', async (samples) => {
  const { fitted, heldOut, labels } = await splitCalibration(numbered(samples), 1000);
  const batches: Batch[] = [];
  for await (const batch of fitted.batches()) batches.push(batch);
  const [left, right] = [numbersOf(batches), numbersOf(heldOut)];
  expect(left).toHaveLength(fitted.samples);
  expect(right.length).toBeGreaterThan(0);
  expect([...left, ...right].sort((a, b) => a - b)).toEqual(Array.from({ length: samples }, (_, i) => i));
  expect(labels).toEqual(right.map((value) => 10 * value));
});

test('no more than is asked for is kept, and one batch alone is all fitted', async () => {
  const { heldOut, fitted } = await splitCalibration(numbered(300), 6);
  expect(numbersOf(heldOut)).toHaveLength(6);
  expect(fitted.samples).toBeLessThan(300);
  const single = numbered(3);
  expect(await splitCalibration(single, 10)).toEqual({ fitted: single, heldOut: [] });
});
