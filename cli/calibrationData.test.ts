/** Sample inputs that do not fit are refused in a sentence; those that fit come in batches. */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { batchSize } from '../compiler/calibrate/calibration.ts';
import { encodePng } from '../eval/rgbImage.ts';
import type { Model } from '../graph/graph.ts';
import { float32Tensor, float32View } from '../graph/tensor.ts';
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

/** Pictures of 6 x 4 pixels, the n-th all of grey level 10 n; and a file that is none. */
async function pictureFolder(count: number): Promise<string> {
  const folder = join(await mkdtemp(join(tmpdir(), 'starling-calibration-')), 'pictures');
  await mkdir(folder);
  await writeFile(join(folder, 'labels.txt'), 'grey');
  for (let i = 0; i < count; i++) {
    const data = new Uint8Array(6 * 4 * 3).fill(10 * i);
    await writeFile(join(folder, `${i}.png`), encodePng({ width: 6, height: 4, data }));
  }
  return folder;
}

async function firstValues(source: string, prepare: 'unit' | 'symmetric' | 'yolox'): Promise<number[]> {
  const model = modelOf(['N', 3, 4, 4]);
  const values: number[] = [];
  for await (const { x } of (await calibrationData(source, model, { prepare })).batches()) {
    if (x === undefined) continue;
    expect(x.dims.slice(1)).toEqual([3, 4, 4]);
    const data = float32View(x);
    for (let i = 0; i < data.length; i += 48) values.push(Math.round((data[i] ?? 0) * 1000) / 1000);
  }
  return values;
}

test('pictures of a folder are fitted to the input, in the range that is asked for, all or a part of them', async () => {
  const folder = await pictureFolder(5);
  expect(await firstValues(folder, 'unit')).toEqual([0, 0.039, 0.078, 0.118, 0.157]);
  expect(await firstValues(`${folder}:1/2`, 'symmetric')).toEqual([-1, -0.843, -0.686]);
  expect(await firstValues(`${folder}:2/2`, 'yolox')).toEqual([10, 30]);
});

test.each([
  ['an empty folder', 0, [3, 4, 4], '', /PNG or JPEG/],
  ['a part without pictures', 1, [3, 4, 4], ':2/2', /part 2 of 2/],
  ['a part that is none', 1, [3, 4, 4], ':3/2', /FOLDER:1.2/],
  ['an input that is no picture', 1, [10], '', /\.npy/],
  ['an input of open size', 1, [3, 'H', 'W'], '', /--shape/],
])('%s is a clear error', async (_, count, shape, part, message) => {
  const folder = await pictureFolder(count);
  await expect(
    calibrationData(`${folder}${part}`, modelOf(['N', ...shape]), { prepare: 'unit' }),
  ).rejects.toThrow(message);
});

test('how pictures become inputs must be said; a given shape closes an open input', async () => {
  const folder = await pictureFolder(1);
  await expect(calibrationData(folder, modelOf(['N', 3, 4, 4]))).rejects.toThrow(/--normalise/);
  const open = modelOf(['N', 3, 'H', 'W']);
  const { samples } = await calibrationData(folder, open, { prepare: 'unit', shapes: { x: [1, 3, 8, 8] } });
  expect(samples).toBe(1);
});

test('a file without samples is refused', async () => {
  await expect(calibrationData(await arrayFile([0, 2]), modelOf(['N', 2]))).rejects.toThrow(/no sample/);
});

test('few samples come in several batches, so that some can be held out; one stays one', async () => {
  for (const [count, sizes] of [
    [1, [1]],
    [3, [1, 1, 1]],
    [20, [3, 3, 3, 3, 3, 3, 2]],
  ] as const) {
    const { batches } = await calibrationData(await arrayFile([count, 2]), modelOf(['N', 2]));
    const found: number[] = [];
    for await (const batch of batches()) found.push(batchSize(batch));
    expect(found).toEqual(sizes);
  }
});

test('a sample that is no number is named, wherever it lies', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'starling-calibration-')), 'samples.npy');
  const values = new Float32Array(2 * 250).fill(0.5);
  values[2 * 242] = Number.NaN;
  await writeFile(
    path,
    writeNpy({ dataType: 'float32', dims: [250, 2], data: new Uint8Array(values.buffer) }),
  );
  const { batches } = await calibrationData(path, modelOf(['N', 2]));
  const read = async () => {
    for await (const _ of batches());
  };
  await expect(read()).rejects.toThrow(/Sample 243 of .*samples\.npy .* finite numbers/);
});
