/** Mean average precision at overlap 0.5 of a YOLOX network trained on COCO, on pictures of Pascal VOC. */
import { AveragePrecision } from '../averagePrecision.ts';
import { type Detection, suppress } from '../boxes.ts';
import { firstOutput, type Item, type Task } from '../task.ts';
import { cocoClasses, type GroundTruth, readVocPicture, vocNames } from '../voc.ts';
import { decodeYolox, letterbox } from '../yolox.ts';

const leastScore = 0.01;
const suppressOverlap = 0.5;

interface Truth {
  readonly objects: readonly GroundTruth[];
  /** From the picture's pixels to the network's. */
  readonly scale: number;
}

/** `size` is the side of the network's square input. */
export async function vocDetection(folder: string, size: number, limit?: number): Promise<Task<Truth>> {
  const names = (await vocNames(folder)).slice(0, limit);
  return {
    count: names.length,
    async *items(): AsyncGenerator<Item<Truth>> {
      for (const name of names) {
        const { image, objects } = await readVocPicture(folder, name);
        const { planes, scale } = letterbox(image, size);
        yield { input: planes, dims: [1, 3, size, size], truth: { objects, scale }, count: 1 };
      }
    },
    createScore() {
      const precision = new AveragePrecision();
      return {
        add({ objects, scale }, outputs) {
          const { data } = firstOutput(outputs);
          const found = suppress(decodeYolox(data, size, cocoClasses, leastScore), suppressOverlap);
          const inPicture = found.map(
            (box): Detection => ({
              ...box,
              left: box.left / scale,
              top: box.top / scale,
              right: box.right / scale,
              bottom: box.bottom / scale,
            }),
          );
          precision.add(objects, inPicture);
          return inPicture.map(({ label }) => label);
        },
        figures: () => ({ mAP50: precision.mean() }),
      };
    },
  };
}
