/** Pictures as a browser has them, to and from planes of numbers between 0 and 1. No model, no tiles. */
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import { borderGrey, type Fit, type Placed, placePicture, type Size } from './pictureFit.ts';
import type { Planes } from './tiles.ts';

/**
 * Decodes whatever this browser can show, turned as its EXIF data say; transparent pixels are laid on white.
 * Throws IMAGE_UNREADABLE.
 */
export async function decodePicture(blob: Blob): Promise<Planes> {
  const whole = ({ width, height }: Size) => ({ width, height });
  return toPlanes(await decode(blob, whole, (size) => ({ left: 0, top: 0, ...whole(size) })));
}

/** The same as RGBA bytes of the given size, whatever the picture's own; a border is grey. Throws IMAGE_UNREADABLE. */
export function decodeScaled(blob: Blob, size: Size, fit: Fit): Promise<ImageData> {
  return decode(
    blob,
    () => size,
    (picture) => placePicture(fit, picture, size),
  );
}

async function decode(
  blob: Blob,
  sizeOf: (picture: Size) => Size,
  placeOf: (picture: Size) => Placed,
): Promise<ImageData> {
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(blob, { imageOrientation: 'from-image' });
  } catch {
    throw new StarlingError(
      'IMAGE_UNREADABLE',
      `This browser cannot read the file as a picture (${blob.type || 'unknown type'}); try a PNG or JPEG.`,
    );
  }
  try {
    if (bitmap.width * bitmap.height > limits.imagePixels) {
      throw new StarlingError(
        'IMAGE_UNREADABLE',
        `The picture has ${bitmap.width} x ${bitmap.height} pixels; at most ${limits.imagePixels} are taken. Use a smaller one.`,
      );
    }
    const { width, height } = sizeOf(bitmap);
    const context = canvasOf(width, height).getContext('2d', { willReadFrequently: true });
    if (context === null)
      throw new StarlingError('IMAGE_UNREADABLE', 'This browser gives no canvas to draw on.');
    const placed = placeOf(bitmap);
    const place = [placed.left, placed.top, placed.width, placed.height] as const;
    context.fillStyle = `rgb(${borderGrey} ${borderGrey} ${borderGrey})`;
    context.fillRect(0, 0, width, height);
    context.fillStyle = '#fff';
    context.fillRect(...place);
    context.imageSmoothingQuality = 'high';
    context.drawImage(bitmap, ...place);
    return context.getImageData(0, 0, width, height);
  } finally {
    bitmap.close();
  }
}

function toPlanes({ data, width, height }: ImageData): Planes {
  const area = width * height;
  const planes = new Float32Array(3 * area);
  for (let i = 0; i < area; i++) {
    planes[i] = (data[4 * i] ?? 0) / 255;
    planes[area + i] = (data[4 * i + 1] ?? 0) / 255;
    planes[2 * area + i] = (data[4 * i + 2] ?? 0) / 255;
  }
  return { data: planes, channels: 3, height, width };
}

/** Values outside 0 to 1 are clipped, as every display does. */
export function toImageData({ data, width, height }: Planes): ImageData {
  const area = width * height;
  const image = new ImageData(width, height);
  for (let i = 0; i < area; i++) {
    // Uint8ClampedArray rounds and clips.
    image.data[4 * i] = 255 * (data[i] ?? 0);
    image.data[4 * i + 1] = 255 * (data[area + i] ?? 0);
    image.data[4 * i + 2] = 255 * (data[2 * area + i] ?? 0);
    image.data[4 * i + 3] = 255;
  }
  return image;
}

export function canvasOf(width: number, height: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  return canvas;
}
