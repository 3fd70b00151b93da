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

/** Rows of a block at most, unless one batch has more: products of few rows are slow, and blocks are held. */
const largestBlock = 2048;
/** Blocks that a fit has at least, where there are as many batches: some of them are left out of it. */
const leastBlocks = 10;

/** The same rows in fewer and larger blocks; `total` is the number of all rows. */
export async function* joinedRows(batches: AsyncIterable<RowBatch>, total: number): AsyncGenerator<RowBatch> {
  const least = Math.min(largestBlock, Math.ceil(total / leastBlocks));
  let waiting: RowBatch[] = [];
  let rows = 0;
  for await (const batch of batches) {
    waiting.push(batch);
    rows += batch.rows;
    if (rows < least) continue;
    yield joined(waiting);
    waiting = [];
    rows = 0;
  }
  if (waiting.length > 0) yield joined(waiting);
}

function joined(batches: readonly RowBatch[]): RowBatch {
  const [only] = batches;
  if (only !== undefined && batches.length === 1) return only;
  const addends = batches.flatMap((batch) => (batch.addends === undefined ? [] : [batch.addends]));
  return {
    rows: batches.reduce((sum, { rows }) => sum + rows, 0),
    inputs: concatenated(batches.map(({ inputs }) => inputs)),
    targets: concatenated(batches.map(({ targets }) => targets)),
    addends: addends.length === batches.length ? concatenated(addends) : undefined,
  };
}

function concatenated(parts: readonly Float32Array[]): Float32Array {
  const result = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
