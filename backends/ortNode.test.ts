import { describe, expect, it } from 'vitest';
import { float32Tensor, float32View, type Tensor } from '../graph/tensor.ts';
import { externalModel } from '../tests/support/backendModels.ts';
import { runOnce } from '../tests/support/runOnce.ts';
import { createNodeBackend } from './ortNode.ts';

const installed = await import(/* @vite-ignore */ `${'onnxruntime-node'}`).then(
  () => true,
  () => false,
);

describe('native backend', () => {
  it.skipIf(installed)('says how to get onnxruntime-node where it is missing', async () => {
    await expect(createNodeBackend()).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      message: expect.stringContaining('npm install --no-save onnxruntime-node@'),
    });
  });

  it.skipIf(!installed)('runs a model with weights from memory (needs onnxruntime-node)', async () => {
    const weights = float32Tensor([3], [10, 20, 30]);
    const file = new Uint8Array(20);
    file.set(weights.data, 8);
    const outputs = await runOnce(
      await createNodeBackend({ threads: 1 }),
      externalModel('w.bin', 8, [3]),
      new Map([['x', float32Tensor([3], [1, 2, 3])]]),
      [{ path: 'w.bin', data: file }],
    );
    expect([...float32View(outputs.get('y') as Tensor)]).toEqual([11, 22, 33]);
  });
});
