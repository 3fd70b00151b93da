/** A picture enlarged or reduced: where each new row and column reads, and the mixed pixels there. */
import type { RgbImage } from './rgbImage.ts';

export interface Sample {
  readonly first: number;
  readonly second: number;
  /** Weight of the second. */
  readonly weight: number;
}

/** Pixel centres lie at halves; beyond the edge the last pixel repeats. No smoothing when reducing. */
export function samplesOf(from: number, to: number): Sample[] {
  return Array.from({ length: to }, (_, i) => {
    const position = Math.min(from - 1, Math.max(0, ((i + 0.5) * from) / to - 0.5));
    const first = Math.floor(position);
    return { first, second: Math.min(from - 1, first + 1), weight: position - first };
  });
}

/** The picture at these rows and columns, each channel rounded. One flat loop: calibrations prepare thousands of pictures. */
export function resample(image: RgbImage, rows: readonly Sample[], columns: readonly Sample[]): RgbImage {
  const { data } = image;
  const result = new Uint8Array(rows.length * columns.length * 3);
  const firsts = Int32Array.from(columns, ({ first }) => 3 * first);
  const seconds = Int32Array.from(columns, ({ second }) => 3 * second);
  const weights = Float64Array.from(columns, ({ weight }) => weight);
  let to = 0;
  for (const { first, second, weight } of rows) {
    const upper = first * image.width * 3;
    const lower = second * image.width * 3;
    for (let x = 0; x < firsts.length; x++) {
      const left = firsts[x] as number;
      const right = seconds[x] as number;
      const share = weights[x] as number;
      for (let c = 0; c < 3; c++) {
        const above =
          (data[upper + left + c] as number) * (1 - share) + (data[upper + right + c] as number) * share;
        const below =
          (data[lower + left + c] as number) * (1 - share) + (data[lower + right + c] as number) * share;
        result[to++] = Math.round(above * (1 - weight) + below * weight);
      }
    }
  }
  return { width: columns.length, height: rows.length, data: result };
}

/** The picture enlarged or reduced until it covers width x height, and its middle cut out; the picture itself where it fits. */
export function coverImage(image: RgbImage, width: number, height: number): RgbImage {
  if (image.width === width && image.height === height) return image;
  const scale = Math.max(width / image.width, height / image.height);
  const middle = (from: number, to: number) => {
    const scaled = Math.max(to, Math.round(from * scale));
    const start = Math.floor((scaled - to) / 2);
    return samplesOf(from, scaled).slice(start, start + to);
  };
  return resample(image, middle(image.height, height), middle(image.width, width));
}
