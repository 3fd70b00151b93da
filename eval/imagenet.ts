/** A folder of JPEGs whose number is their ImageNet class, decoded one at a time. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Part, takePart, wholeFolder } from './pictureFolder.ts';
import { decodeImage, type RgbImage } from './rgbImage.ts';

export interface LabelledImage {
  readonly label: number;
  /** 224 x 224. */
  readonly image: RgbImage;
}

/** Every `step`-th picture of a part, in the order of the classes. */
export async function* imagenetSamples(
  folder: string,
  step = 1,
  part: Part = wholeFolder,
): AsyncGenerator<LabelledImage> {
  const names = takePart(await pictureNames(folder), part);
  for (let i = 0; i < names.length; i += step) {
    const name = names[i] ?? '';
    yield { label: Number.parseInt(name, 10), image: decodeImage(await readFile(join(folder, name)), name) };
  }
}

async function pictureNames(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^\d+\.jpg$/.test(name)).sort();
}

export async function countImagenetSamples(folder: string, part: Part = wholeFolder): Promise<number> {
  return takePart(await pictureNames(folder), part).length;
}
