/**
 * The rows of one contraction's least-squares problem: inputs as the sparse model sees them, and what the dense model makes
 * of the same samples.
 */
import { assertFinite } from '../calibrate/calibration.ts';
import type { Contraction } from '../calibrate/contractions.ts';
import { positionsFor } from '../calibrate/gram.ts';
import { gatherChannels, positionsPerSample, rowGatherer, samplePositions } from '../calibrate/patches.ts';
import type { Observation } from '../calibrate/walk.ts';
import type { Target } from './targets.ts';

export interface RowBatch {
  readonly rows: number;
  /** rows x width of the contraction. */
  readonly inputs: Float32Array;
  /** rows x output channels: the dense value. */
  readonly targets: Float32Array;
  /** rows x output channels: what the sparse model adds to the contraction's output; absent where nothing is. */
  readonly addends: Float32Array | undefined;
}

export interface RowOptions {
  readonly samples: number;
  /** Over all samples. */
  readonly rows: number;
  readonly random: () => number;
}

/** The values of the dense and of the sparse model that a contraction's rows are made of. */
export function valuesFor({ input }: Contraction, { value, addend }: Target) {
  return { dense: [value], sparse: addend === undefined ? [input] : [input, addend] };
}

/** Both walks show the same batches. */
export async function* contractionRows(
  contraction: Contraction,
  { value, addend }: Target,
  dense: AsyncIterable<Observation>,
  sparse: AsyncIterable<Observation>,
  { samples, rows, random }: RowOptions,
): AsyncGenerator<RowBatch> {
  const gather = rowGatherer(contraction);
  const { input, outputAxis, view } = contraction;
  const sparseBatches = sparse[Symbol.asyncIterator]();
  for await (const made of dense) {
    const next = await sparseBatches.next();
    if (next.done === true) break;
    const wanted = made.get(value);
    const read = next.value.get(input);
    const added = addend === undefined ? undefined : next.value.get(addend);
    if (wanted === undefined || read === undefined) continue;
    assertFinite(wanted.data, `"${value}"`);
    const size = (wanted.dims[0] ?? 1) / (view.outputShape[0] ?? 1);
    const positions = samplePositions(
      positionsPerSample(contraction) * size,
      positionsFor(contraction, rows, samples, size),
      random,
    );
    yield {
      rows: positions.length,
      inputs: gather(read, positions),
      targets: gatherChannels(wanted, outputAxis, positions),
      addends: added === undefined ? undefined : gatherChannels(added, outputAxis, positions),
    };
  }
  // The sparse walk settles what it keeps only once it is read to its end.
  await sparseBatches.next();
}
