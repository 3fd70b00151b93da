/** A device that has its sessions holds no weight of the plan beside them: the engine's own copy is the only one. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel } from '../../compiler/compile.ts';
import { float32Tensor } from '../../graph/tensor.ts';
import { systemClock } from '../../runtime/clock.ts';
import { Device } from '../../runtime/device.ts';
import { openPlan } from '../../runtime/plan.ts';
import { fileWeights } from '../../runtime/weights/blob.ts';
import { side, testPicture, tinyUpscaler } from '../e2e/support/tinyUpscaler.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Everything that holds weights lives in here only. */
async function load(device: Device): Promise<WeakRef<Uint8Array>[]> {
  const backend = await createHeapBackend();
  const { files } = await compileModel(tinyUpscaler(), {
    name: 'tiny',
    numShards: 2,
    axis: 'channels',
    backend,
  });
  const plan = await openPlan(async (path) => files.get(path) ?? new Uint8Array());
  const contents = plan.file.weights.map(({ path }) => files.get(path)?.slice() ?? new Uint8Array());
  const weights = fileWeights(plan, contents);
  const { model, division } = plan;
  const placement = { epoch: 1, devices: ['a'], shards: [[0, 1]], host: 'a' };
  await device.load({ model, division, openBatch: false, weights }, placement);
  return contents.map((bytes) => new WeakRef(bytes));
}

test('the files of a plan are free once its sessions exist, and it runs', async () => {
  const device = new Device({ id: 'a', backend: await createHeapBackend(), clock: systemClock });
  const files = await load(device);
  for (let i = 0; i < 5 && files.some((file) => file.deref() !== undefined); i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    collectGarbage();
  }
  expect(files.map((file) => file.deref()?.byteLength)).toEqual(files.map(() => undefined));
  const picture = float32Tensor([1, 3, side, side], testPicture(1));
  const { outputs, stats } = await device.run(1, { picture });
  expect(outputs['large']?.dims).toEqual([1, 3, 192, 192]);
  expect(stats.heapBytes).toBeGreaterThan(1e6);
  await device.close();
});
