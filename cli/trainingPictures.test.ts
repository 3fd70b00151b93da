import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { covering } from '../eval/preparations.ts';
import { encodePng } from '../eval/rgbImage.ts';
import { seededRandom } from '../graph/random.ts';
import { float32View } from '../graph/tensor.ts';
import { trainingPictures } from './trainingPictures.ts';
import { openTrainingSource } from './trainingSource.ts';

let root = '';
const [width, height] = [6, 4];

/** The red of a pixel says where it is: 10 y + x, and 100 more for each picture. */
async function writePicture(path: string, number: number): Promise<void> {
  const data = Uint8Array.from({ length: 3 * width * height }, (_, i) =>
    i % 3 === 0 ? 10 * Math.floor(i / 3 / width) + (Math.floor(i / 3) % width) + 100 * number : 0,
  );
  await writeFile(path, encodePng({ width, height, data }));
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'starling-pictures-'));
  for (const folder of ['plain', 'classes/cat', 'classes/dog', 'empty']) {
    await mkdir(join(root, folder), { recursive: true });
  }
  for (const number of [0, 1]) await writePicture(join(root, 'plain', `${number}.png`), number);
  await writePicture(join(root, 'classes/dog/a.png'), 0);
  await writePicture(join(root, 'classes/cat/b.png'), 1);
  await writeFile(join(root, 'plain', 'notes.txt'), 'no picture');
});

afterAll(async () => {
  await rm(root, { recursive: true });
});

/** Levels as they are. */
const levels = covering({ order: 'rgb', mean: [0, 0, 0], std: [1, 1, 1] });
const options = { height: 2, width: 3, fit: 'crop', prepare: levels } as const;

/** Red of the first sample, row by row. */
async function red(folder: string, index: number, random?: () => number): Promise<number[]> {
  const data = await trainingPictures(join(root, folder), options);
  const batch = float32View(await data.batch([index], random));
  return [...batch.slice(0, 6)];
}

test('without random numbers a crop is the middle, at the own scale', async () => {
  expect(await red('plain', 0)).toEqual([11, 12, 13, 21, 22, 23]);
  expect(await red('plain', 1)).toEqual([111, 112, 113, 121, 122, 123]);
});

test('random crops lie within the picture, mirrored or not, and come again with the same numbers', async () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    const crop = await red('plain', 0, seededRandom(seed));
    expect(await red('plain', 0, seededRandom(seed))).toEqual(crop);
    const [a = 0, b = 0, c = 0, d = 0] = crop;
    const step = b - a;
    expect([1, -1]).toContain(step);
    expect([c - b, d - a]).toEqual([step, 10]);
    expect(Math.min(...crop)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...crop)).toBeLessThanOrEqual(35);
    seen.add(crop.join());
  }
  expect(seen.size).toBeGreaterThan(10);
});

test('sub-folders are classes in the order of their names; a folder of none is refused', async () => {
  const data = await trainingPictures(join(root, 'classes'), options);
  expect(data.labels).toEqual([0, 1]);
  expect((await red('classes', 0))[0]).toBe(111);
  expect((await trainingPictures(join(root, 'plain'), options)).labels).toBeUndefined();
  await expect(trainingPictures(join(root, 'empty'), options)).rejects.toThrow(/holds no PNG or JPEG/);
  await expect(trainingPictures(join(root, 'nowhere'), options)).rejects.toThrow(/cannot be read/);
});

test("CIFAR-10's pictures fit only a model of their size", async () => {
  await expect(openTrainingSource('cifar10', options)).rejects.toThrow(/32 x 32, and the model takes 2 x 3/);
});
