/** The pictures of a folder, all or one part of several, decoded one at a time in the order of their names. No labels. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StarlingError } from '../protocol/errors.ts';
import { decodeImage, type RgbImage } from './rgbImage.ts';

/** Every `of`-th picture from `index` on (0 to of - 1), so that parts share no picture and each is spread over the whole. */
export interface Part {
  readonly index: number;
  readonly of: number;
}

export interface PictureFolder {
  readonly count: number;
  pictures(): AsyncIterable<RgbImage>;
}

export const wholeFolder: Part = { index: 0, of: 1 };

export function takePart<T>(items: readonly T[], { index, of }: Part): T[] {
  return items.filter((_, i) => i % of === index);
}

/** PNG and JPEG files; others are passed over. Throws CALIBRATION_INVALID where there are none, FILE_UNREADABLE. */
export async function openPictureFolder(folder: string, part: Part = wholeFolder): Promise<PictureFolder> {
  const files = await readdir(folder).catch((thrown: unknown) => {
    throw StarlingError.from(thrown, 'FILE_UNREADABLE', `${folder} cannot be read`);
  });
  const all = files.filter((name) => /\.(png|jpe?g)$/i.test(name)).sort();
  const names = takePart(all, part);
  if (names.length === 0) {
    const asked = part.of === 1 ? 'there are none' : `part ${part.index + 1} of ${part.of} has none`;
    throw new StarlingError(
      'CALIBRATION_INVALID',
      `${folder} is expected to hold PNG or JPEG pictures, and ${asked} among its ${files.length} files; give another folder.`,
    );
  }
  return {
    count: names.length,
    async *pictures() {
      for (const name of names) yield decodeImage(await readFile(join(folder, name)), join(folder, name));
    },
  };
}
