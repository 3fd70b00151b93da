/** Between 8-bit RGB pictures and the float32 planes (channels x height x width) that networks take. Pure. */
import type { RgbImage } from './rgbImage.ts';

export interface Normalisation {
  /** Order of the planes. */
  readonly order: 'rgb' | 'bgr';
  /** Per plane: (x - mean) / std, x from 0 to 255. */
  readonly mean: readonly [number, number, number];
  readonly std: readonly [number, number, number];
}

/** x / 255. */
export const unitRange: Normalisation = { order: 'rgb', mean: [0, 0, 0], std: [255, 255, 255] };

/** x / 127.5 - 1. */
export const symmetricRange: Normalisation = {
  order: 'rgb',
  mean: [127.5, 127.5, 127.5],
  std: [127.5, 127.5, 127.5],
};

/** 3 x height x width. */
export function planesOf(image: RgbImage, normalisation: Normalisation = unitRange): Float32Array {
  const { data } = image;
  const pixels = image.width * image.height;
  const planes = new Float32Array(3 * pixels);
  const { mean, std, order } = normalisation;
  for (let c = 0; c < 3; c++) {
    const source = order === 'rgb' ? c : 2 - c;
    const [shift = 0, scale = 1] = [mean[c], std[c]];
    for (let i = 0; i < pixels; i++) planes[c * pixels + i] = ((data[i * 3 + source] ?? 0) - shift) / scale;
  }
  return planes;
}

/** 3 x height x width planes, 0 to 1, as a picture: rounded to the nearest of 256 levels, what lies outside clipped. */
export function imageOf(planes: Float32Array, width: number, height: number): RgbImage {
  const pixels = width * height;
  const data = new Uint8Array(3 * pixels);
  for (let c = 0; c < 3; c++) {
    for (let i = 0; i < pixels; i++) {
      data[i * 3 + c] = Math.min(255, Math.max(0, Math.round((planes[c * pixels + i] ?? 0) * 255)));
    }
  }
  return { width, height, data };
}
