/**
 * A folder of PNG and JPEG pictures as data to train on, at a model's input size. Pictures in sub-folders are labelled: one
 * class a folder, in the order of their names. Pictures directly in the folder have no labels.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TrainingData } from '../compiler/train/trainingData.ts';
import type { Prepare } from '../eval/preparations.ts';
import { decodeImage, type RgbImage } from '../eval/rgbImage.ts';
import { float32Tensor, type Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';

/**
 * - crop: a part at the picture's own scale, anywhere when augmented and else the middle;
 * - cover: all of the picture, as the preparation fits it.
 */
export const fits = ['crop', 'cover'] as const;
export type Fit = (typeof fits)[number];

export interface PictureOptions {
  readonly height: number;
  readonly width: number;
  readonly fit: Fit;
  readonly prepare: Prepare;
}

/** Decoded pictures that are kept; beyond it they are decoded again. */
const cacheBytes = 2 ** 30;

interface Entry {
  readonly path: string;
  readonly label: number | undefined;
}

/** Throws INPUT_INVALID for a folder without pictures; a batch throws IMAGE_UNREADABLE. */
export async function trainingPictures(folder: string, options: PictureOptions): Promise<TrainingData> {
  const entries = await listPictures(folder);
  if (entries.length === 0) {
    throw new StarlingError(
      'INPUT_INVALID',
      `${folder} holds no PNG or JPEG, neither itself nor in sub-folders named by class.`,
    );
  }
  const read = createReader(entries);
  const labels = entries.flatMap(({ label }) => (label === undefined ? [] : [label]));
  return {
    count: entries.length,
    ...(labels.length === entries.length ? { labels } : {}),
    async batch(indices, random): Promise<Tensor> {
      // Drawn before anything is awaited: the order of decoding must not matter.
      const draws = indices.map(() =>
        random === undefined ? undefined : { x: random(), y: random(), mirrored: random() < 0.5 },
      );
      const { height, width } = options;
      const plane = 3 * height * width;
      const data = new Float32Array(indices.length * plane);
      for (const [position, index] of indices.entries()) {
        data.set(planes(await read(index), options, draws[position]), position * plane);
      }
      return float32Tensor([indices.length, 3, height, width], data);
    },
  };
}

interface Draw {
  readonly x: number;
  readonly y: number;
  readonly mirrored: boolean;
}

function planes(image: RgbImage, options: PictureOptions, draw?: Draw): Float32Array {
  const { height, width, fit, prepare } = options;
  const turned = draw?.mirrored === true ? mirrored(image) : image;
  if (fit === 'cover') return prepare(turned, height, width);
  const at = (share: number | undefined, room: number): number =>
    share === undefined ? Math.floor(room / 2) : Math.floor(share * (room + 1));
  const [w, h] = [Math.min(width, image.width), Math.min(height, image.height)];
  const part = cropped(turned, at(draw?.x, image.width - w), at(draw?.y, image.height - h), w, h);
  return prepare(part, height, width);
}

function mirrored({ width, height, data }: RgbImage): RgbImage {
  const out = new Uint8Array(data.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * width + width - 1 - x) * 3;
      out.set(data.subarray(from, from + 3), (y * width + x) * 3);
    }
  }
  return { width, height, data: out };
}

function cropped(image: RgbImage, left: number, top: number, width: number, height: number): RgbImage {
  if (width === image.width && height === image.height) return image;
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    const from = ((top + y) * image.width + left) * 3;
    data.set(image.data.subarray(from, from + width * 3), y * width * 3);
  }
  return { width, height, data };
}

function createReader(entries: readonly Entry[]): (index: number) => Promise<RgbImage> {
  const cache = new Map<number, RgbImage>();
  let bytes = 0;
  return async (index) => {
    const known = cache.get(index);
    if (known !== undefined) return known;
    const path = entries[index]?.path ?? '';
    const image = decodeImage(await readFile(path), path);
    if (bytes + image.data.length <= cacheBytes) {
      cache.set(index, image);
      bytes += image.data.length;
    }
    return image;
  };
}

async function listPictures(folder: string): Promise<Entry[]> {
  const inside = await list(folder);
  const classes = inside.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const own = picturesOf(inside, folder).map((path) => ({ path, label: undefined }));
  if (own.length > 0) return own;
  const labelled = await Promise.all(
    classes.sort().map(async (name, label) => {
      const path = join(folder, name);
      return picturesOf(await list(path), path).map((picture): Entry => ({ path: picture, label }));
    }),
  );
  return labelled.flat();
}

function picturesOf(entries: Awaited<ReturnType<typeof list>>, folder: string): string[] {
  return entries
    .filter((entry) => entry.isFile() && /\.(png|jpe?g)$/i.test(entry.name))
    .map(({ name }) => join(folder, name))
    .sort();
}

async function list(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (thrown) {
    throw StarlingError.from(thrown, 'FILE_UNREADABLE', `The folder ${folder} cannot be read`);
  }
}
