/** YOLOX: a picture letterboxed for the network, and boxes from its undecoded output (one class per box and score). */
import { resample, samplesOf } from './bilinear.ts';
import type { Detection } from './boxes.ts';
import type { RgbImage } from './rgbImage.ts';

/** Grey level of what the picture does not fill. */
const padding = 114;
const strides = [8, 16, 32] as const;

/**
 * 3 x size x size, blue, green, red, 0 to 255: the picture at the top left, enlarged or reduced until it touches the right or
 * the lower edge. `scale` leads from the picture's pixels to the network's.
 */
export function letterbox(image: RgbImage, size: number): { planes: Float32Array; scale: number } {
  const scale = Math.min(size / image.height, size / image.width);
  const width = Math.trunc(image.width * scale);
  const height = Math.trunc(image.height * scale);
  const planes = new Float32Array(3 * size * size).fill(padding);
  const { data } = resample(image, samplesOf(image.height, height), samplesOf(image.width, width));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let c = 0; c < 3; c++)
        planes[(c * size + y) * size + x] = data[(y * width + x) * 3 + 2 - c] as number;
    }
  }
  return { planes, scale };
}

/**
 * `output` holds for each cell of the three grids, row by row: centre x and y and logarithms of width and height in
 * cells, the confidence that there is an object, and one score per class. Boxes in the network's pixels; the best
 * class of each, those with confidence x score of at least `threshold`.
 */
export function decodeYolox(
  output: Float32Array,
  size: number,
  classes: number,
  threshold: number,
): Detection[] {
  const length = 5 + classes;
  const detections: Detection[] = [];
  let start = 0;
  for (const stride of strides) {
    const cells = size / stride;
    for (let cell = 0; cell < cells * cells; cell++, start += length) {
      const [x = 0, y = 0, logWidth = 0, logHeight = 0, confidence = 0] = output.subarray(start, start + 5);
      let label = 0;
      for (let c = 1; c < classes; c++) {
        if ((output[start + 5 + c] ?? 0) > (output[start + 5 + label] ?? 0)) label = c;
      }
      const score = confidence * (output[start + 5 + label] ?? 0);
      if (score < threshold) continue;
      const centreX = (x + (cell % cells)) * stride;
      const centreY = (y + Math.floor(cell / cells)) * stride;
      const [halfWidth, halfHeight] = [logWidth, logHeight].map((value) => (Math.exp(value) * stride) / 2);
      detections.push({
        left: centreX - (halfWidth ?? 0),
        top: centreY - (halfHeight ?? 0),
        right: centreX + (halfWidth ?? 0),
        bottom: centreY + (halfHeight ?? 0),
        label,
        score,
      });
    }
  }
  return detections;
}
