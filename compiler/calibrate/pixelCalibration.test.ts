import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import { blockNetwork } from '../../tests/support/blockNetwork.ts';
import { pixelEnds } from '../pixels.ts';
import { pixelCalibration } from './pixelCalibration.ts';
import { openPrefix } from './prefix.ts';

test('pixels make what the model was calibrated with', async () => {
  const backend = await createHeapBackend();
  const input = { scale: 255, mean: [0.4, 0.5, 0.6], std: [0.2, 0.25, 0.3] };
  const model = pixelEnds(await blockNetwork(backend, 4, 1), { input });
  const values = Float32Array.from({ length: 2 * 3 * 36 }, (_, i) => {
    const channel = Math.floor(i / 36) % 3;
    return (((i * 37) % 256) / 255 - (input.mean[channel] ?? 0)) / (input.std[channel] ?? 1);
  });
  const floats = {
    samples: 2,
    batches: () => [{ pictures: float32Tensor([2, 3, 6, 6], values) }],
  };
  const prefix = await openPrefix(model, ['pictures/normalised'], backend);
  for await (const batch of pixelCalibration(floats, model, input).batches()) {
    expect(batch['pictures']?.dataType).toBe('uint8');
    const [made] = (await prefix.run(batch)).values();
    for (const [i, value] of values.entries()) expect(made?.data[i]).toBeCloseTo(value, 5);
  }
  await prefix.release();
  expect(float32View(floats.batches()[0]?.pictures ?? float32Tensor([0], []))).toEqual(values);
});
