/** Mean intersection over union on CamVid's test pictures, 11 classes; the twelfth, void, is neither asked nor predicted. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Confusion } from '../confusion.ts';
import { type Normalisation, planesOf } from '../pixels.ts';
import { decodeImage } from '../rgbImage.ts';
import { firstOutput, type Item, type Task } from '../task.ts';

const classes = 11;

/** `folder` holds `images/` and `labels/`, PNG files of the same names and size; a label's grey level is its class. */
export async function camvidSegmentation(
  folder: string,
  normalisation: Normalisation,
  limit?: number,
): Promise<Task<Uint8Array>> {
  const names = (await readdir(join(folder, 'images'))).filter((name) => name.endsWith('.png')).sort();
  const used = names.slice(0, limit);
  const read = async (part: string, name: string) =>
    decodeImage(await readFile(join(folder, part, name)), `${part}/${name}`);
  return {
    count: used.length,
    async *items(): AsyncGenerator<Item<Uint8Array>> {
      for (const name of used) {
        const image = await read('images', name);
        const labels = await read('labels', name);
        yield {
          input: planesOf(image, normalisation),
          dims: [1, 3, image.height, image.width],
          truth: labels.data.filter((_, i) => i % 3 === 0),
          count: 1,
        };
      }
    },
    createScore() {
      const confusion = new Confusion(classes);
      return {
        add(labels, outputs) {
          const { data, dims } = firstOutput(outputs);
          const [height = 0, width = 0] = dims.slice(-2);
          const predicted = largestPlane(data, height * width);
          confusion.add(labels, predicted);
          return predicted;
        },
        figures: () => ({
          meanIoU: confusion.meanIntersectionOverUnion(),
          pixelAccuracy: confusion.pixelAccuracy(),
        }),
      };
    },
  };
}

/** For each pixel the class, of those that are scored, whose map is largest. */
function largestPlane(maps: Float32Array, pixels: number): Uint8Array {
  const labels = new Uint8Array(pixels);
  for (let i = 0; i < pixels; i++) {
    let best = 0;
    for (let c = 1; c < classes; c++) {
      if ((maps[c * pixels + i] ?? 0) > (maps[best * pixels + i] ?? 0)) best = c;
    }
    labels[i] = best;
  }
  return labels;
}
