/** Set5: five pictures and their quarter-size versions, the classic measure of super-resolution. Read from a folder. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeImage, type RgbImage } from './rgbImage.ts';

export interface SuperResolutionPair {
  readonly name: string;
  /** `high` reduced four times along each side. */
  readonly low: RgbImage;
  readonly high: RgbImage;
}

/** `folder` holds `hr/` and `lr-x4/` with files of the same names. */
export async function loadSet5(folder: string): Promise<SuperResolutionPair[]> {
  const names = (await readdir(join(folder, 'hr'))).filter((name) => name.endsWith('.png')).sort();
  const read = async (part: string, name: string) =>
    decodeImage(await readFile(join(folder, part, name)), name);
  return Promise.all(
    names.map(async (name) => ({
      name: name.replace('.png', ''),
      low: await read('lr-x4', name),
      high: await read('hr', name),
    })),
  );
}
