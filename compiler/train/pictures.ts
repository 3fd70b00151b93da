/** Batches of labelled pictures for a classifier, with the usual augmentation; the same for the same random numbers. */
import { float32Tensor, type Tensor } from '../../graph/tensor.ts';
import type { TrainingData } from './trainingData.ts';

export interface Pictures {
  readonly count: number;
  /** Height and width. */
  readonly size: number;
  /** count x 3 x size x size, 0 to 255. */
  readonly images: Uint8Array;
  readonly labels: Uint8Array;
  /** A network takes (x / 255 - mean) / deviation, per colour. */
  readonly mean: readonly [number, number, number];
  readonly deviation: readonly [number, number, number];
}

/** Black pixels around a picture before it is cropped back to its size. */
const cropMargin = 4;

/** [indices, 3, size, size]; with random numbers, each picture is shifted by up to 4 pixels and mirrored half the time. */
export function pictureBatch(pictures: Pictures, indices: readonly number[], random?: () => number): Tensor {
  const { size, images } = pictures;
  const plane = size * size;
  const levels = levelsOf(pictures);
  const out = new Float32Array(indices.length * 3 * plane);
  for (const [position, index] of indices.entries()) {
    const [dy, dx] = random === undefined ? [0, 0] : [shift(random), shift(random)];
    const mirrored = random !== undefined && random() < 0.5;
    for (let colour = 0; colour < 3; colour++) {
      const from = (index * 3 + colour) * plane;
      const to = (position * 3 + colour) * plane;
      const table = colour * 256;
      for (let y = 0; y < size; y++) {
        const row = y + dy;
        const inside = row >= 0 && row < size;
        for (let x = 0; x < size; x++) {
          const column = (mirrored ? size - 1 - x : x) + dx;
          const seen = inside && column >= 0 && column < size;
          const level = seen ? (images[from + row * size + column] ?? 0) : 0;
          out[to + y * size + x] = levels[table + level] ?? 0;
        }
      }
    }
  }
  return float32Tensor([indices.length, 3, size, size], out);
}

function shift(random: () => number): number {
  return Math.floor(random() * (2 * cropMargin + 1)) - cropMargin;
}

function levelsOf({ mean, deviation }: Pictures): Float32Array {
  return Float32Array.from({ length: 768 }, (_, i) => {
    const colour = Math.floor(i / 256);
    return ((i % 256) / 255 - (mean[colour] ?? 0)) / (deviation[colour] ?? 1);
  });
}

/** Pictures as what a trainer learns from. */
export function pictureData(pictures: Pictures): TrainingData {
  return {
    count: pictures.count,
    labels: pictures.labels,
    batch: (indices, random) => pictureBatch(pictures, indices, random),
  };
}
