/** Pictures for the page: the first of each class among CIFAR-10's test pictures, whatever a network makes of them. */
import { join } from 'node:path';
import { writeBytes } from '../../cli/files.ts';
import { cifar10Classes, loadCifar10 } from '../../eval/cifar10.ts';
import { encodePng } from '../../eval/rgbImage.ts';

export interface SamplePicture {
  /** Beside the catalogue. */
  readonly path: string;
  readonly class: string;
}

const side = 32;
/** Each class is among the first so many. */
const searched = 200;

/** Writes them as PNG into `folder`/pictures. Throws what `loadCifar10` throws. */
export async function writeSamplePictures(folder: string): Promise<SamplePicture[]> {
  const { images, labels } = await loadCifar10('test', searched);
  const samples: SamplePicture[] = [];
  for (const [index, name] of cifar10Classes.entries()) {
    const place = labels.indexOf(index);
    const planes = images.subarray(place * 3 * side ** 2, (place + 1) * 3 * side ** 2);
    const data = Uint8Array.from(
      { length: planes.length },
      (_, at) => planes[(at % 3) * side ** 2 + Math.floor(at / 3)] ?? 0,
    );
    const path = `pictures/${name}.png`;
    await writeBytes(join(folder, path), encodePng({ width: side, height: side, data }));
    samples.push({ path, class: name });
  }
  return samples;
}
