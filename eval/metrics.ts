/** The figures that papers report: top-k accuracy, PSNR on luma, agreement, errors of outputs. Pure array work. */
import type { RgbImage } from './rgbImage.ts';

/** Index of the largest of each row of `classes` scores; the first where several are equal. */
export function argmaxRows(scores: Float32Array, classes: number): number[] {
  return Array.from({ length: scores.length / classes }, (_, row) => {
    let best = 0;
    for (let c = 1; c < classes; c++) {
      if ((scores[row * classes + c] ?? 0) > (scores[row * classes + best] ?? 0)) best = c;
    }
    return best;
  });
}

/** How many rows have their label among the `k` largest scores; a score equal to the label's counts against it. */
export function topKCorrect(
  scores: Float32Array,
  classes: number,
  labels: ArrayLike<number>,
  k: number,
): number {
  let correct = 0;
  for (let row = 0; row < scores.length / classes; row++) {
    const label = labels[row] ?? -1;
    const own = scores[row * classes + label] ?? Number.NaN;
    let ahead = 0;
    for (let c = 0; c < classes; c++) {
      if (c !== label && (scores[row * classes + c] ?? 0) >= own) ahead++;
    }
    if (ahead < k && !Number.isNaN(own)) correct++;
  }
  return correct;
}

/** Largest absolute difference; NaN on either side alone counts as infinite. */
export function maxAbsError(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) throw new RangeError(`Expected ${b.length} values, got ${a.length}.`);
  let max = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs((a[i] ?? 0) - (b[i] ?? 0));
    if (Number.isNaN(difference)) {
      if (!Object.is(a[i], b[i])) return Number.POSITIVE_INFINITY;
    } else if (difference > max) max = difference;
  }
  return max;
}

/** Luma of BT.601 in video range (16 to 235), as super-resolution papers take it (MATLAB's rgb2ycbcr), not rounded. */
export function lumaOf(image: RgbImage): Float64Array {
  const { data } = image;
  const luma = new Float64Array(image.width * image.height);
  for (let i = 0; i < luma.length; i++) {
    const [r = 0, g = 0, b = 0] = [data[3 * i], data[3 * i + 1], data[3 * i + 2]];
    luma[i] = 16 + (65.481 * r + 128.553 * g + 24.966 * b) / 255;
  }
  return luma;
}

/**
 * PSNR in dB between the lumas of two pictures of one size, without `border` pixels on each side (papers leave out as
 * many as the scale). Infinity where they are equal.
 */
export function psnrY(a: RgbImage, b: RgbImage, border: number): number {
  if (a.width !== b.width || a.height !== b.height) {
    throw new RangeError(`Expected ${b.width} x ${b.height} pixels, got ${a.width} x ${a.height}.`);
  }
  const [x, y] = [lumaOf(a), lumaOf(b)];
  let squares = 0;
  let count = 0;
  for (let row = border; row < a.height - border; row++) {
    for (let column = border; column < a.width - border; column++) {
      const i = row * a.width + column;
      squares += ((x[i] ?? 0) - (y[i] ?? 0)) ** 2;
      count++;
    }
  }
  if (count === 0)
    throw new RangeError(`Nothing is left of ${a.width} x ${a.height} pixels inside the border.`);
  return squares === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10(255 ** 2 / (squares / count));
}
