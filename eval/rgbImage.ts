/** A picture as 8-bit RGB, decoded from PNG or JPEG and encoded as PNG, in JavaScript alone. No network input is made here. */
import { convertIndexedToRgb, decode as decodePng, hasPngSignature, encode as pngOf } from 'fast-png';
import { decode as decodeJpeg } from 'jpeg-js';
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';

export interface RgbImage {
  readonly width: number;
  readonly height: number;
  /** width x height x 3, rows first, R G B for each pixel. */
  readonly data: Uint8Array;
}

/**
 * PNG (any colour type and depth; 16 bits are cut to 8, transparency is dropped) or JPEG (baseline and progressive).
 * `name` is for messages. Throws StarlingError IMAGE_UNREADABLE.
 */
export function decodeImage(bytes: Uint8Array, name = 'The picture'): RgbImage {
  try {
    if (hasPngSignature(bytes)) return fromPng(bytes);
    if (bytes[0] === 0xff && bytes[1] === 0xd8) return fromJpeg(bytes);
  } catch (thrown) {
    throw StarlingError.from(thrown, 'IMAGE_UNREADABLE', `${name} cannot be decoded`);
  }
  throw new StarlingError('IMAGE_UNREADABLE', `${name} is neither PNG nor JPEG.`);
}

export function encodePng(image: RgbImage): Uint8Array {
  return pngOf({ ...image, channels: 3, depth: 8 });
}

function fromPng(bytes: Uint8Array): RgbImage {
  const png = decodePng(bytes, { checkCrc: true });
  const { width, height } = png;
  if (png.palette !== undefined) {
    // The palette may carry transparency as a fourth entry.
    return { width, height, data: rgbOf(convertIndexedToRgb(png), png.palette[0]?.length ?? 3, 8) };
  }
  return { width, height, data: rgbOf(png.data, png.channels, png.depth) };
}

/** Grey, grey + alpha, RGB or RGBA samples of any depth as RGB of 8 bits. */
function rgbOf(samples: ArrayLike<number>, channels: number, depth: number): Uint8Array {
  const pixels = samples.length / channels;
  const rgb = new Uint8Array(pixels * 3);
  const colour = channels >= 3 ? 1 : 0;
  const max = 2 ** depth - 1;
  for (let pixel = 0; pixel < pixels; pixel++) {
    for (let c = 0; c < 3; c++) {
      const sample = samples[pixel * channels + c * colour] ?? 0;
      rgb[pixel * 3 + c] = depth === 8 ? sample : depth === 16 ? sample >> 8 : (sample * 255) / max;
    }
  }
  return rgb;
}

function fromJpeg(bytes: Uint8Array): RgbImage {
  const { width, height, data } = decodeJpeg(bytes, {
    useTArray: true,
    formatAsRGBA: false,
    tolerantDecoding: false,
    maxResolutionInMP: limits.imagePixels / 1e6,
  });
  return { width, height, data };
}
