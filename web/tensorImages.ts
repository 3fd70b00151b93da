/**
 * Pictures as the numbers that a model's image-shaped input takes, and image-shaped outputs as pictures. Pure: pixels
 * are RGBA bytes as a canvas has them; nothing is resized or shown here.
 */

export interface ImageLayout {
  readonly order: 'NCHW' | 'NHWC';
  readonly channels: number;
  readonly height: number;
  readonly width: number;
}

/** What a model was trained to see of a pixel 0..255: (pixel / scale - mean) / std, for red, green, blue. */
export interface Normalisation {
  readonly label: string;
  readonly scale: number;
  readonly mean: readonly [number, number, number];
  readonly std: readonly [number, number, number];
}

export const normalisations = {
  unit: { label: '0 to 1', scale: 255, mean: [0, 0, 0], std: [1, 1, 1] },
  signed: { label: '−1 to 1', scale: 255, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
  /** Of torchvision's models. */
  imagenet: {
    label: 'ImageNet mean and deviation',
    scale: 255,
    mean: [0.485, 0.456, 0.406],
    std: [0.229, 0.224, 0.225],
  },
  pixels: { label: '0 to 255', scale: 1, mean: [0, 0, 0], std: [1, 1, 1] },
} as const satisfies Readonly<Record<string, Normalisation>>;

export type NormalisationName = keyof typeof normalisations;
export type ColourOrder = 'RGB' | 'BGR';

/** How a tensor of this shape is a picture of 1 or 3 channels (or, for masks, of any number); null where it is none. */
export function imageLayout(shape: readonly number[], anyChannels = false): ImageLayout | null {
  const [batch, a = 0, b = 0, c = 0] = shape.length === 3 ? [1, ...shape] : shape;
  if (batch !== 1 || (shape.length !== 3 && shape.length !== 4)) return null;
  const fits = (channels: number) => (anyChannels ? channels > 1 : channels === 1 || channels === 3);
  // Lists of boxes are long and narrow.
  const isMap = (height: number, width: number) =>
    Math.min(height, width) >= 4 && Math.max(height, width) <= 8 * Math.min(height, width);
  const first = fits(a) && isMap(b, c);
  const last = fits(c) && isMap(a, b);
  // Where both could be the channels, there are fewer of them than rows.
  if (first && (!last || a <= c)) return { order: 'NCHW', channels: a, height: b, width: c };
  return last ? { order: 'NHWC', channels: c, height: a, width: b } : null;
}

/** A layout's strides: elements from one channel, and from one pixel, to the next. */
function strides({ order, channels, height, width }: ImageLayout): { channel: number; pixel: number } {
  return order === 'NCHW' ? { channel: height * width, pixel: 1 } : { channel: 1, pixel: channels };
}

/** One channel is luminance (ITU-R BT.601). uint8 takes the pixels as they are. */
export function pixelsToTensor(
  rgba: Uint8ClampedArray,
  layout: ImageLayout,
  options: { readonly normalisation: Normalisation; readonly colours: ColourOrder },
): Float32Array {
  const { channels, height, width } = layout;
  const { scale, mean, std } = options.normalisation;
  const { channel, pixel } = strides(layout);
  const values = new Float32Array(channels * height * width);
  const normalised = (i: number, c: number) =>
    ((rgba[4 * i + c] ?? 0) / scale - (mean[c] ?? 0)) / (std[c] ?? 1);
  for (let i = 0; i < height * width; i++) {
    if (channels === 1) {
      values[i * pixel] = 0.299 * normalised(i, 0) + 0.587 * normalised(i, 1) + 0.114 * normalised(i, 2);
      continue;
    }
    for (let c = 0; c < channels; c++) {
      values[c * channel + i * pixel] = normalised(i, options.colours === 'RGB' ? c : 2 - c);
    }
  }
  return values;
}

/** RGBA bytes of 1 or 3 channels; the range is 0..1 or 0..255 where the values keep to it, else their own. */
export function tensorToPixels(
  values: ArrayLike<number>,
  layout: ImageLayout,
): { readonly rgba: Uint8ClampedArray<ArrayBuffer>; readonly range: readonly [number, number] } {
  const { channels, height, width } = layout;
  const { channel, pixel } = strides(layout);
  const [low, high] = displayRange(values);
  const factor = 255 / (high - low || 1);
  const rgba = new Uint8ClampedArray(4 * height * width);
  for (let i = 0; i < height * width; i++) {
    for (let c = 0; c < 3; c++) {
      const value = values[(channels === 1 ? 0 : c) * channel + i * pixel] ?? 0;
      rgba[4 * i + c] = (value - low) * factor;
    }
    rgba[4 * i + 3] = 255;
  }
  return { rgba, range: [low, high] };
}

function displayRange(values: ArrayLike<number>): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  // Upscalers overshoot a little at edges.
  if (low >= -0.2 && high <= 1.2) return [0, 1];
  if (low >= -50 && high > 1.2 && high <= 305) return [0, 255];
  return [low, high];
}

export interface Mask {
  /** The greatest channel of each pixel, row by row. */
  readonly classes: Uint16Array;
  /** Pixels of each class that occurs, the most frequent first. */
  readonly counts: readonly (readonly [index: number, pixels: number])[];
}

/** Of equal channels the first. */
export function argmaxMask(values: ArrayLike<number>, layout: ImageLayout): Mask {
  const { channels, height, width } = layout;
  const { channel, pixel } = strides(layout);
  const classes = new Uint16Array(height * width);
  const found = new Map<number, number>();
  for (let i = 0; i < classes.length; i++) {
    let best = 0;
    let most = values[i * pixel] ?? 0;
    for (let c = 1; c < channels; c++) {
      const value = values[c * channel + i * pixel] ?? 0;
      if (value > most) [best, most] = [c, value];
    }
    classes[i] = best;
    found.set(best, (found.get(best) ?? 0) + 1);
  }
  return { classes, counts: [...found].sort((a, b) => b[1] - a[1]) };
}

/** A map of one channel whose whole numbers are the classes already; null where one is no class. */
export function classMask(values: ArrayLike<number>, mostClasses: number): Mask | null {
  const classes = new Uint16Array(values.length);
  const found = new Map<number, number>();
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    if (!Number.isInteger(value) || value < 0 || value >= mostClasses) return null;
    classes[i] = value;
    found.set(value, (found.get(value) ?? 0) + 1);
  }
  return { classes, counts: [...found].sort((a, b) => b[1] - a[1]) };
}

/** A colour for each class, far apart for neighbours; class 0 is dark. */
export function classColour(index: number): readonly [number, number, number] {
  if (index === 0) return [32, 38, 43];
  // The golden angle keeps hues apart however many there are.
  const hue = (index * 137.508) % 360;
  const part = (offset: number) => {
    const k = (offset + hue / 30) % 12;
    return Math.round(255 * (0.58 - 0.36 * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

/** The greatest values with their places, greatest first. */
export function topValues(
  values: ArrayLike<number>,
  count: number,
): { readonly index: number; readonly value: number }[] {
  const best: { index: number; value: number }[] = [];
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0;
    const least = best.at(-1);
    if (best.length === count && least !== undefined && value <= least.value) continue;
    const at = best.findIndex((other) => value > other.value);
    best.splice(at < 0 ? best.length : at, 0, { index, value });
    if (best.length > count) best.pop();
  }
  return best;
}
