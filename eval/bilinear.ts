/** Bilinear samples of a picture: where an enlarged or reduced side reads, and the mixed value there. */
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

export function bilinear({ width, data }: RgbImage, row: Sample, column: Sample, channel: number): number {
  const at = (y: number, x: number) => data[(y * width + x) * 3 + channel] ?? 0;
  const between = (y: number) =>
    at(y, column.first) * (1 - column.weight) + at(y, column.second) * column.weight;
  return between(row.first) * (1 - row.weight) + between(row.second) * row.weight;
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
  const columns = middle(image.width, width);
  const data = new Uint8Array(width * height * 3);
  for (const [y, row] of middle(image.height, height).entries()) {
    for (const [x, column] of columns.entries()) {
      for (let c = 0; c < 3; c++) data[(y * width + x) * 3 + c] = Math.round(bilinear(image, row, column, c));
    }
  }
  return { width, height, data };
}
