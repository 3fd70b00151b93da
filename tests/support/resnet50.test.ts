import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { normaliseModel } from '../../compiler/normalise/normaliseModel.ts';
import { saveModel } from '../../graph/save.ts';
import { float32View, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { randomFeeds } from './random.ts';
import { relativeDifference } from './relativeDifference.ts';
import { buildResnet50, resnet50Model } from './resnet50.ts';
import { runOnce } from './runOnce.ts';
import { hasShared } from './shared.ts';

function only(outputs: ReadonlyMap<string, Tensor>): Float32Array {
  const [tensor] = outputs.values();
  if (tensor === undefined) throw new Error('No output.');
  return float32View(tensor);
}

function deviation(values: Float32Array): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

describe.skipIf(!hasShared)('resnet50', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  it('is the same model every time, with logits that depend on the picture', async () => {
    const model = await resnet50Model(async () => backend);
    const again = await buildResnet50(backend);
    expect(Buffer.compare(saveModel(model).bytes, saveModel(again).bytes)).toBe(0);
    const feeds = randomFeeds(model.graph.inputs, 1);
    const first = await runOnce(backend, saveModel(model).bytes, feeds);
    const second = only(await runOnce(backend, saveModel(model).bytes, randomFeeds(model.graph.inputs, 2)));
    expect(deviation(only(first))).toBeGreaterThan(0.3);
    expect(deviation(only(first))).toBeLessThan(10);
    // Two pictures differ in more than noise.
    expect(deviation(only(first).map((value, i) => value - (second[i] ?? 0)))).toBeGreaterThan(0.05);
    const { model: normalised, graph, batchOpen } = await normaliseModel(model, { backend });
    const error = relativeDifference(await runOnce(backend, saveModel(normalised).bytes, feeds), first);
    console.log(`resnet50: relative error of the normalised model ${error.toExponential(1)}`);
    expect(error).toBeLessThan(1e-5);
    expect(batchOpen).toBe(true);
    expect(graph.nodes.some((node) => node.opType === 'BatchNormalization')).toBe(false);
  }, 180_000);
});
