/** Samples of a calibration held in memory, spread evenly over it, so that they can be read again for nothing. */
import type { Tensor } from '../../graph/tensor.ts';
import { batchSize, type Calibration } from './calibration.ts';
import type { Batch } from './prefix.ts';

/**
 * `count` of the samples in batches of `largest` at most (by default as large as the calibration's own). Memory is that of
 * `count` samples and one batch, however many the calibration has; all of them are the calibration itself.
 */
export async function heldSamples(
  calibration: Calibration,
  count: number,
  largest = Number.POSITIVE_INFINITY,
): Promise<Calibration> {
  const { samples } = calibration;
  if (count >= samples) return calibration;
  const chosen: Batch[] = [];
  let seen = 0;
  let size = 1;
  for await (const batch of calibration.batches()) {
    size = Math.max(size, batchSize(batch));
    for (let i = 0; i < batchSize(batch); i++, seen++) {
      const taken = Math.floor((seen * count) / samples) < Math.floor(((seen + 1) * count) / samples);
      if (taken) chosen.push(sampleAt(batch, i));
    }
  }
  const perBatch = Math.min(size, largest);
  const batches = Array.from({ length: Math.ceil(chosen.length / perBatch) }, (_, i) =>
    joinedSamples(chosen.slice(i * perBatch, (i + 1) * perBatch)),
  );
  return { samples: chosen.length, batches: () => batches };
}

function mapped(batch: Batch, change: (tensor: Tensor, name: string) => Tensor): Batch {
  return Object.fromEntries(Object.entries(batch).map(([name, tensor]) => [name, change(tensor, name)]));
}

/** One sample of a batch, as a batch of its own. */
export function sampleAt(batch: Batch, index: number): Batch {
  return mapped(batch, ({ dataType, dims, data }) => {
    const bytes = data.byteLength / (dims[0] ?? 1);
    return { dataType, dims: [1, ...dims.slice(1)], data: data.slice(index * bytes, (index + 1) * bytes) };
  });
}

/** Samples of one shape, at least one, as one batch. */
export function joinedSamples(samples: readonly Batch[]): Batch {
  return mapped(samples[0] ?? {}, ({ dataType, dims, data }, name) => {
    const all = new Uint8Array(data.byteLength * samples.length);
    for (const [i, sample] of samples.entries()) {
      const part = sample[name];
      if (part !== undefined) all.set(part.data, i * data.byteLength);
    }
    return { dataType, dims: [samples.length, ...dims.slice(1)], data: all };
  });
}
