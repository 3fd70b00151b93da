import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import type { Backend } from '../runtime/backend.ts';
import { randomFeeds } from '../tests/support/random.ts';
import { runOnce } from '../tests/support/runOnce.ts';
import { hasShared, readSharedModel, sharedModelNames } from '../tests/support/shared.ts';
import { loadModel } from './load.ts';
import { saveModel } from './save.ts';
import type { Tensor } from './tensor.ts';

// Sizes for the models whose height and width are open.
const openShapes: Readonly<Record<string, number[]>> = {
  'esrgan-slim-x4.onnx': [1, 3, 12, 10],
  'esrgan-thick-x4.onnx': [1, 3, 6, 5],
  'espcn-x3.onnx': [1, 1, 12, 10],
  'deit-tiny-random-weights.onnx': [1, 3, 224, 224],
};

// Element by element, expect() would take minutes over millions of weights.
function expectSameBits(actual: ReadonlyMap<string, Tensor>, expected: ReadonlyMap<string, Tensor>): void {
  expect([...actual.keys()].sort()).toEqual([...expected.keys()].sort());
  for (const [name, tensor] of expected) {
    const other = actual.get(name);
    expect({ dataType: other?.dataType, dims: other?.dims }).toEqual({
      dataType: tensor.dataType,
      dims: tensor.dims,
    });
    expect(Buffer.compare(other?.data ?? new Uint8Array(), tensor.data), name).toBe(0);
  }
}

describe.skipIf(!hasShared)('a model that was loaded and saved', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  it.each(sharedModelNames())('computes bit for bit what the original computes: %s', async (name) => {
    const original = readSharedModel(name);
    const model = loadModel(original);
    const [input] = model.graph.inputs;
    const shape = openShapes[name];
    const feeds = randomFeeds(model.graph.inputs, 7, shape && input ? { [input.name]: shape } : {});
    const expected = await runOnce(backend, original, feeds);
    const inside = await runOnce(backend, saveModel(model).bytes, feeds);
    expectSameBits(inside, expected);
    const saved = saveModel(model, { external: { path: 'weights.bin', threshold: 64 } });
    const data = saved.external === undefined ? [] : [{ path: 'weights.bin', data: saved.external }];
    expectSameBits(await runOnce(backend, saved.bytes, feeds, data), expected);
    const again = loadModel(saved.bytes, () => data[0]?.data ?? new Uint8Array());
    expectSameBits(again.graph.initializers, model.graph.initializers);
  });
});
