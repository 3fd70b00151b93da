/** Batches of labelled pictures for a classifier, with the usual augmentation; the same for the same random numbers. */
import { elementCount, float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';

export interface Pictures {
  readonly count: number;
  /** Height and width. */
  readonly size: number;
  readonly numClasses: number;
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

/** One-hot labels, [indices, numClasses]. */
export function labelBatch({ labels, numClasses }: Pictures, indices: readonly number[]): Tensor {
  const out = new Float32Array(indices.length * numClasses);
  for (const [position, index] of indices.entries()) out[position * numClasses + (labels[index] ?? 0)] = 1;
  return float32Tensor([indices.length, numClasses], out);
}

/** The pictures of one step: every epoch goes through all of them in an order of its own; the rest is left out. */
export function indicesOfStep(
  count: number,
  batch: number,
  step: number,
  randomOfEpoch: (epoch: number) => () => number,
): readonly number[] {
  const stepsPerEpoch = Math.max(1, Math.floor(count / batch));
  const random = randomOfEpoch(Math.floor(step / stepsPerEpoch));
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
  }
  const start = (step % stepsPerEpoch) * batch;
  return [...order.subarray(start, start + batch)];
}

/** How many rows of the logits are largest at the label. */
export function countCorrect(logits: Tensor, { labels }: Pictures, indices: readonly number[]): number {
  const values = float32View(logits);
  const classes = elementCount(logits.dims.slice(1));
  return indices.filter((index, row) => {
    const scores = values.subarray(row * classes, (row + 1) * classes);
    return (
      scores.indexOf(scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)) === labels[index]
    );
  }).length;
}
