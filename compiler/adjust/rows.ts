/**
 * The rows of one contraction's least-squares problem: inputs as the sparse model sees them, and what the dense model makes
 * of the same samples.
 */
import { elementCount } from '../../graph/tensor.ts';
import type { Contraction } from '../calibrate/contractions.ts';
import { gatherChannels, rowGatherer } from '../calibrate/patches.ts';
import type { Observed } from '../calibrate/prefix.ts';
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
export function valuesFor({ inputParts }: Contraction, { addend }: Target): readonly string[] {
  // The parts of a concatenation are held anyway, for others that read them: it need not be held beside them.
  return addend === undefined ? inputParts : [...inputParts, addend];
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
    const read = concatenation(
      contraction.inputParts.map((part) => seen.get(part)),
      contraction.inputAxis,
    );
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

/** Undefined where a part is missing. */
function concatenation(parts: readonly (Observed | undefined)[], axis: number): Observed | undefined {
  const seen = parts.flatMap((part) => (part === undefined ? [] : [part]));
  const [first] = seen;
  if (first === undefined || seen.length < parts.length) return undefined;
  if (seen.length === 1) return first;
  const dims = first.dims.map((length, i) =>
    i === axis ? seen.reduce((sum, part) => sum + (part.dims[i] ?? 0), 0) : length,
  );
  const outer = elementCount(dims.slice(0, axis));
  const whole = elementCount(dims.slice(axis));
  const data = new Float32Array(outer * whole);
  let at = 0;
  for (const part of seen) {
    const length = elementCount(part.dims.slice(axis));
    for (let i = 0; i < outer; i++)
      data.set(part.data.subarray(i * length, (i + 1) * length), i * whole + at);
    at += length;
  }
  return { dims, data };
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
