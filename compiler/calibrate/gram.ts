/**
 * Gram matrices of what contractions multiply, gathered in one pass over the calibration inputs. Memory is one batch and
 * one matrix per contraction, whatever the number of samples.
 */
import type { Model } from '../../graph/graph.ts';
import { seededRandom } from '../../graph/random.ts';
import type { Backend } from '../../runtime/backend.ts';
import type { Products } from '../linearAlgebra/products.ts';
import { assertFinite, batchSize, type Calibration } from './calibration.ts';
import type { Contraction } from './contractions.ts';
import { positionsPerSample, rowGatherer, rowWidth, samplePositions } from './patches.ts';
import { openPrefix, valueBytes } from './prefix.ts';
import { smallBatches } from './smallBatches.ts';

/** What all contractions of one batch may read, in bytes: a deep network with large maps reads gigabytes. */
const batchBytes = 512 * 1024 * 1024;

/** X'X / rows of rows X: every channel under every tap, and the 1. Row-major, width x width. */
export interface Gram {
  readonly width: number;
  readonly matrix: Float64Array;
}

export interface GramOptions {
  readonly model: Model;
  readonly backend: Backend;
  readonly products: Products;
  readonly calibration: Calibration;
  /** Rows to gather per contraction; all that there are where there are fewer. */
  readonly rows: number;
  readonly seed: number;
  readonly onSamples?: (done: number) => void;
}

/** Adds float32 sums to float64 ones. */
export function accumulate(target: Float64Array, source: Float32Array): void {
  for (let i = 0; i < target.length; i++) target[i] = (target[i] as number) + (source[i] as number);
}

/** How many positions of a batch to take so that the whole calibration gives about `rows`. */
export function positionsFor(contraction: Contraction, rows: number, samples: number, batch: number): number {
  const perSample = Math.min(positionsPerSample(contraction), Math.max(1, Math.ceil(rows / samples)));
  return perSample * batch;
}

export async function gramMatrices(
  contractions: readonly Contraction[],
  { model, backend, products, calibration, rows, seed, onSamples }: GramOptions,
): Promise<ReadonlyMap<Contraction, Gram>> {
  const random = seededRandom(seed);
  const sums = contractions.map((contraction) => {
    const width = rowWidth(contraction);
    return {
      contraction,
      width,
      gather: rowGatherer(contraction),
      matrix: new Float64Array(width * width),
      count: 0,
    };
  });
  const inputs = [...new Set(contractions.map(({ input }) => input))];
  const prefix = await openPrefix(model, inputs, backend);
  const sampleBytes = valueBytes(model.graph, inputs);
  const { batches } = smallBatches(
    calibration,
    Math.max(1, Math.floor(batchBytes / Math.max(1, sampleBytes))),
  );
  let done = 0;
  try {
    for await (const batch of batches()) {
      const values = await prefix.run(batch);
      const size = batchSize(batch);
      for (const sum of sums) {
        const value = values.get(sum.contraction.input);
        if (value === undefined) continue;
        assertFinite(value.data, `"${sum.contraction.input}"`);
        const total = positionsPerSample(sum.contraction) * size;
        const wanted = positionsFor(sum.contraction, rows, calibration.samples, size);
        const positions = samplePositions(total, wanted, random);
        const x = sum.gather(value, positions);
        accumulate(sum.matrix, await products.transposedProduct(x, x, positions.length));
        sum.count += positions.length;
      }
      done += size;
      onSamples?.(done);
    }
  } finally {
    await prefix.release();
  }
  return new Map(
    sums.map(({ contraction, width, matrix, count }) => {
      // In place: all together they may take gigabytes.
      for (let i = 0; i < matrix.length; i++) matrix[i] = (matrix[i] as number) / Math.max(1, count);
      return [contraction, { width, matrix }];
    }),
  );
}
