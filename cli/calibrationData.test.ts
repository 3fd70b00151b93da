/** Sample inputs that do not fit are refused in a sentence; those that fit come in batches. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { batchSize } from '../compiler/calibrate/calibration.ts';
import type { Model } from '../graph/graph.ts';
import { float32Tensor } from '../graph/tensor.ts';
import { writeNpy } from '../protocol/npy.ts';
import { calibrationData } from './calibrationData.ts';

function modelOf(shape: readonly (number | string)[]): Model {
  const graph = {
    name: 'g',
    inputs: [{ name: 'x', dataType: 'float32' as const, shape }],
    outputs: [],
    nodes: [],
    initializers: new Map(),
    values: new Map(),
  };
  return { irVersion: 8, opsets: new Map([['', 17]]), producer: 'test', metadata: new Map(), graph };
}

async function arrayFile(dims: readonly number[]): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'starling-calibration-')), 'samples.npy');
  const count = dims.reduce((product, dim) => product * dim, 1);
  const { data } = float32Tensor(
    dims,
    Float32Array.from({ length: count }, (_, i) => i),
  );
  await writeFile(path, writeNpy({ dataType: 'float32', dims, data }));
  return path;
}

test('samples come in batches, all of them, in order', async () => {
  const { samples, batches } = await calibrationData(await arrayFile([250, 2]), modelOf(['N', 2]));
  expect(samples).toBe(250);
  const sizes: number[] = [];
  for await (const batch of batches()) sizes.push(batchSize(batch));
  expect(sizes).toEqual([100, 100, 50]);
});

test('samples of another shape are refused', async () => {
  const path = await arrayFile([4, 3]);
  await expect(calibrationData(path, modelOf(['N', 2]))).rejects.toMatchObject({
    code: 'CALIBRATION_INVALID',
  });
});

test('a file that is no array is refused', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'starling-calibration-')), 'text.npy');
  await writeFile(path, 'hello');
  await expect(calibrationData(path, modelOf(['N', 2]))).rejects.toHaveProperty('code');
});
