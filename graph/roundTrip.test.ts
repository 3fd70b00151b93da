import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import type { Backend } from '../runtime/backend.ts';
import { randomFeeds } from '../tests/support/random.ts';
import { runOnce } from '../tests/support/runOnce.ts';
import { hasShared, readSharedModel, sharedFolder, sharedModelNames } from '../tests/support/shared.ts';
import { loadModel } from './load.ts';
import { saveModel } from './save.ts';

// Sizes for the models whose height and width are open.
const openShapes: Readonly<Record<string, number[]>> = {
  'esrgan-slim-x4.onnx': [1, 3, 12, 10],
  'esrgan-thick-x4.onnx': [1, 3, 6, 5],
  'espcn-x3.onnx': [1, 1, 12, 10],
  'deit-tiny-random-weights.onnx': [1, 3, 224, 224],
};

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
    expect(inside).toEqual(expected);
    const saved = saveModel(model, { external: { path: 'weights.bin', threshold: 64 } });
    const data = saved.external === undefined ? [] : [{ path: 'weights.bin', data: saved.external }];
    expect(await runOnce(backend, saved.bytes, feeds, data)).toEqual(expected);
    expect(loadModel(saved.bytes, () => data[0]?.data ?? new Uint8Array())).toEqual(
      loadModel(saveModel(model).bytes),
    );
  });

  const cases = hasShared ? readdirSync(`${sharedFolder}data/onnx-cases`) : [];
  it.each(cases)('of the ONNX suite is the same after a second load: %s', (name) => {
    const model = loadModel(
      new Uint8Array(readFileSync(`${sharedFolder}data/onnx-cases/${name}/model.onnx`)),
    );
    const again = loadModel(saveModel(model).bytes);
    expect(again).toEqual({ ...model, irVersion: Math.max(4, model.irVersion) });
  });
});
