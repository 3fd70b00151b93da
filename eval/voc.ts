/** Pictures of Pascal VOC with the objects that its XML files name, and VOC's classes by COCO's. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StarlingError } from '../protocol/errors.ts';
import type { Box } from './boxes.ts';
import { decodeImage, type RgbImage } from './rgbImage.ts';

/** Index in COCO's 80 classes, in which detectors answer. */
const cocoIndex: Readonly<Record<string, number>> = {
  person: 0,
  bicycle: 1,
  car: 2,
  motorbike: 3,
  aeroplane: 4,
  bus: 5,
  train: 6,
  boat: 8,
  bird: 14,
  cat: 15,
  dog: 16,
  horse: 17,
  sheep: 18,
  cow: 19,
  bottle: 39,
  chair: 56,
  sofa: 57,
  pottedplant: 58,
  diningtable: 60,
  tvmonitor: 62,
};

export const cocoClasses = 80;

export interface GroundTruth extends Box {
  /** In COCO's numbering. */
  readonly label: number;
  /** Left out of the figure: neither a hit nor a miss. */
  readonly difficult: boolean;
}

export interface VocPicture {
  readonly image: RgbImage;
  readonly objects: readonly GroundTruth[];
}

export async function vocNames(folder: string): Promise<string[]> {
  const files = await readdir(join(folder, 'images'));
  return files
    .filter((file) => file.endsWith('.jpg'))
    .map((file) => file.slice(0, -'.jpg'.length))
    .sort();
}

/** `folder` holds `images/NAME.jpg` and `annotations/NAME.xml`. Throws FILE_UNREADABLE. */
export async function readVocPicture(folder: string, name: string): Promise<VocPicture> {
  const image = decodeImage(await readFile(join(folder, 'images', `${name}.jpg`)), `${name}.jpg`);
  const xml = await readFile(join(folder, 'annotations', `${name}.xml`), 'utf8');
  return { image, objects: parseVocObjects(xml, name) };
}

/** The files are written by one program and flat enough for expressions; parts of an object (a head, a hand) have boxes of their own. */
export function parseVocObjects(xml: string, name = 'The annotation'): GroundTruth[] {
  return [...xml.matchAll(/<object>([\s\S]*?)<\/object>/g)].map(([, object = '']) => {
    const own = object.replaceAll(/<part>[\s\S]*?<\/part>/g, '');
    const text = (tag: string) => new RegExp(`<${tag}>\\s*([^<]*?)\\s*</${tag}>`).exec(own)?.[1];
    const label = cocoIndex[text('name') ?? ''];
    const [left, top, right, bottom] = ['xmin', 'ymin', 'xmax', 'ymax'].map((tag) => Number(text(tag)));
    if (label === undefined || ![left, top, right, bottom].every(Number.isFinite)) {
      throw new StarlingError(
        'FILE_UNREADABLE',
        `${name} holds an object that is none of Pascal VOC's: ${own}.`,
      );
    }
    // VOC counts pixels from 1 and includes the last.
    return {
      left: (left ?? 0) - 1,
      top: (top ?? 0) - 1,
      right: right ?? 0,
      bottom: bottom ?? 0,
      label,
      difficult: text('difficult') === '1',
    };
  });
}
