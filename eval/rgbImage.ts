/** A picture as 8-bit RGB, decoded from PNG or JPEG and encoded as PNG, without native code.
 * No network input is made here. */
import { decode as decodeJpeg } from '@cwasm/jpeg-turbo';
import { convertIndexedToRgb, decode as decodePng, hasPngSignature, encode as pngOf } from 'fast-png';
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
  const size = pngSize(bytes) ?? jpegSize(bytes);
  if (size === undefined) {
    throw new StarlingError('IMAGE_UNREADABLE', `${name} is neither a PNG nor a JPEG.`);
  }
  if (size.width * size.height > limits.imagePixels) {
    throw new StarlingError(
      'IMAGE_UNREADABLE',
      `${name} has ${size.width} x ${size.height} pixels; at most ${limits.imagePixels} are decoded.`,
    );
  }
  try {
    return hasPngSignature(bytes) ? fromPng(bytes) : fromJpeg(bytes);
  } catch (thrown) {
    throw StarlingError.from(thrown, 'IMAGE_UNREADABLE', `${name} cannot be decoded`);
  }
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

/** libjpeg-turbo's decoder: figures measured elsewhere rest on its way of widening the colour planes. */
function fromJpeg(bytes: Uint8Array): RgbImage {
  const { width, height, data } = decodeJpeg(bytes);
  return { width, height, data: rgbOf(data, 4, 8) };
}

type Size = Pick<RgbImage, 'width' | 'height'>;

/** The size that a PNG claims; the header chunk comes first. */
function pngSize(bytes: Uint8Array): Size | undefined {
  if (!hasPngSignature(bytes) || bytes.length < 24) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** The size that a JPEG claims, from its frame header: marker C0 to CF, but not C4, C8, CC. */
function jpegSize(bytes: Uint8Array): Size | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 4 || view.getUint16(0) !== 0xffd8) return undefined;
  let offset = 2;
  while (offset + 9 <= bytes.length && bytes[offset] === 0xff) {
    const marker = bytes[offset + 1] ?? 0;
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return { width: view.getUint16(offset + 7), height: view.getUint16(offset + 5) };
    }
    // A marker may be preceded by any number of 0xff.
    offset += marker === 0xff ? 1 : 2 + view.getUint16(offset + 2);
  }
  return undefined;
}
