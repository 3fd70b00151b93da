/** What a network learns from, as the trainer sees it: samples by number, with or without labels. */
import { elementCount, float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';

export interface TrainingData {
  readonly count: number;
  /** Class of each sample; without labels the teacher's outputs are all there is to learn from. */
  readonly labels?: ArrayLike<number>;
  /** The model's input for some samples; with random numbers, augmented. The same for the same numbers. */
  batch(indices: readonly number[], random?: () => number): Tensor | Promise<Tensor>;
}

/** Samples [start, start + count) of some data. */
export function partOf(data: TrainingData, start: number, count: number): TrainingData {
  const { labels } = data;
  return {
    count,
    ...(labels === undefined
      ? {}
      : { labels: Array.from({ length: count }, (_, i) => labels[start + i] ?? 0) }),
    batch: (indices, random) =>
      data.batch(
        indices.map((index) => start + index),
        random,
      ),
  };
}

/** One-hot labels, [indices, numClasses]. */
export function oneHot(labels: ArrayLike<number>, numClasses: number, indices: readonly number[]): Tensor {
  const out = new Float32Array(indices.length * numClasses);
  for (const [position, index] of indices.entries()) out[position * numClasses + (labels[index] ?? 0)] = 1;
  return float32Tensor([indices.length, numClasses], out);
}

/** How many rows of the logits are largest at the label. */
export function countCorrect(logits: Tensor, labels: ArrayLike<number>, indices: readonly number[]): number {
  const values = float32View(logits);
  const classes = elementCount(logits.dims.slice(1));
  return indices.filter((index, row) => {
    const scores = values.subarray(row * classes, (row + 1) * classes);
    return (
      scores.indexOf(scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)) === labels[index]
    );
  }).length;
}

/** The samples of one step: every epoch goes through all of them in an order of its own; the rest is left out. */
export function indicesOfStep(
  count: number,
  batch: number,
  step: number,
  randomOfEpoch: (epoch: number) => () => number,
): readonly number[] {
  // Data of less than a batch is gone through several times in one step.
  if (count < batch) return Array.from({ length: batch }, (_, i) => i % count);
  const stepsPerEpoch = Math.floor(count / batch);
  const random = randomOfEpoch(Math.floor(step / stepsPerEpoch));
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
  }
  const start = (step % stepsPerEpoch) * batch;
  return [...order.subarray(start, start + batch)];
}
