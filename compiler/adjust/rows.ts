/**
 * The rows of one contraction's least-squares problem: inputs as the sparse model sees them, and what the dense model makes
 * of the same samples.
 */
import type { Contraction } from '../calibrate/contractions.ts';
import { gatherChannels, rowGatherer } from '../calibrate/patches.ts';
import type { Observation } from '../calibrate/walk.ts';
import type { TargetRows } from './denseTargets.ts';
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

/** The values of the sparse model that a contraction's rows are made of. */
export function valuesFor({ input }: Contraction, { addend }: Target): readonly string[] {
  return addend === undefined ? [input] : [input, addend];
}

/** `dense` and the walk through the sparse model are of the same batches. */
export async function* contractionRows(
  contraction: Contraction,
  { addend }: Target,
  dense: readonly TargetRows[],
  sparse: AsyncIterable<Observation>,
): AsyncGenerator<RowBatch> {
  const gather = rowGatherer(contraction);
  let index = 0;
  for await (const seen of sparse) {
    const wanted = dense[index++];
    const read = seen.get(contraction.input);
    const added = addend === undefined ? undefined : seen.get(addend);
    if (wanted === undefined || read === undefined) continue;
    const { positions, targets } = wanted;
    yield {
      rows: positions.length,
      inputs: gather(read, positions),
      targets,
      addends: added === undefined ? undefined : gatherChannels(added, contraction.outputAxis, positions),
    };
  }
}
