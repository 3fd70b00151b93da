/** PSNR on luma of pictures enlarged four times, each at its own size and whole. */
import { psnrY } from '../metrics.ts';
import { imageOf, planesOf } from '../pixels.ts';
import type { RgbImage } from '../rgbImage.ts';
import { loadSet5 } from '../set5.ts';
import { firstOutput, type Task } from '../task.ts';

/** `folder` holds `hr/` and `lr-x4/`. */
export async function set5SuperResolution(folder: string, limit?: number): Promise<Task<RgbImage>> {
  const pairs = (await loadSet5(folder)).slice(0, limit);
  return {
    count: pairs.length,
    *items() {
      for (const { low, high } of pairs) {
        yield { input: planesOf(low), dims: [1, 3, low.height, low.width], truth: high, count: 1 };
      }
    },
    createScore() {
      const decibels: number[] = [];
      return {
        add(high, outputs) {
          const { data, dims } = firstOutput(outputs);
          const [height = 0, width = 0] = dims.slice(-2);
          const picture = imageOf(data, width, height);
          // As papers do: as many pixels as the scale are left out at the border.
          decibels.push(psnrY(picture, high, 4));
          return picture.data;
        },
        figures: () => ({ psnrY: decibels.reduce((sum, value) => sum + value, 0) / decibels.length }),
      };
    },
  };
}
