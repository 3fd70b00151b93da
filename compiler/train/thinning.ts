/** DISCO's thinning: which features shards stop reading, by the energy that each adds to the reader's outputs. */
import { elementCount } from '../../graph/tensor.ts';
import type { ExchangedValue, Reader } from './exchangedValues.ts';
import type { Parameter, Parameters } from './parameters.ts';

/**
 * - uniform: of every value, every shard keeps the same share;
 * - global: one budget of transferred elements over all values, so that whole exchanges may vanish.
 */
export type ThinningScope = 'uniform' | 'global';

export interface ThinningSchedule {
  /** Kept ratios at the beginning and at the end. */
  readonly from: number;
  readonly to: number;
  /** Thinning begins and ends at these steps, and happens every so many between them. */
  readonly start: number;
  readonly end: number;
  readonly every: number;
}

/**
 * Kept ratio to thin to before a step; undefined where nothing is due. Falls fast at first, when little is lost, and slowly
 * at the end (Zhu and Gupta, 2017).
 */
export function keepAt({ from, to, start, end, every }: ThinningSchedule, step: number): number | undefined {
  if (step === end) return to;
  const due = step >= start && step < end && (step - start) % every === 0;
  return due ? to + (from - to) * (1 - (step - start) / (end - start)) ** 3 : undefined;
}

/**
 * For each value and reading shard, the score of every feature: the share that it adds to the energy of the reader's
 * outputs, averaged over them and summed over the contractions that read it. `moments` holds the mean square of every
 * feature by value.
 */
export function scoreFeatures(
  values: readonly ExchangedValue[],
  parameters: Parameters,
  moments: ReadonlyMap<string, Float32Array>,
): readonly (readonly Float64Array[])[] {
  const energies = values.map(({ value, readers }) =>
    readers.flatMap((reader) => {
      const [parameter, moment] = [parameters.get(reader.weight), moments.get(value)];
      return parameter === undefined || moment === undefined ? [] : [energyOf(reader, parameter, moment)];
    }),
  );
  // A contraction may read several values, side by side.
  const totals = new Map<string, Float64Array>();
  for (const { reader, outputs, inputs, energy } of energies.flat()) {
    const total = totals.get(reader.node) ?? new Float64Array(outputs);
    totals.set(reader.node, total);
    for (const [i, part] of energy.entries()) {
      const output = Math.floor(i / inputs);
      total[output] = (total[output] ?? 0) + part;
    }
  }
  return values.map(({ owners, reads }, at) => {
    const scores = reads.map(() => new Float64Array(owners.length));
    for (const energy of energies[at] ?? []) addScores(scores, energy, totals.get(energy.reader.node));
    return scores;
  });
}

interface Energy {
  readonly reader: Reader;
  readonly outputs: number;
  readonly inputs: number;
  /** outputs x inputs: weight squared times mean square, over the kernel. */
  readonly energy: Float64Array;
}

function energyOf(reader: Reader, { dims, value, mask }: Parameter, moment: Float32Array): Energy {
  const { outputAxis, inputAxis, features } = reader;
  const [outputs = 1, inputs = 1] = [dims[outputAxis], dims[inputAxis]];
  const [outputStride = 1, inputStride = 1] = [outputAxis, inputAxis].map((axis) =>
    elementCount(dims.slice(axis + 1)),
  );
  const energy = new Float64Array(outputs * inputs);
  for (const [i, weight] of value.entries()) {
    const input = Math.floor(i / inputStride) % inputs;
    const feature = features[input];
    if (feature === undefined || mask?.[i] === 0) continue;
    const at = (Math.floor(i / outputStride) % outputs) * inputs + input;
    energy[at] = (energy[at] ?? 0) + weight * weight * (moment[feature] ?? 0);
  }
  return { reader, outputs, inputs, energy };
}

function addScores(
  scores: readonly Float64Array[],
  { reader: { outputOwners, features }, outputs, inputs, energy }: Energy,
  totals: Float64Array | undefined,
): void {
  const outputsOf = scores.map((_, shard) => outputOwners.filter((owner) => owner === shard).length);
  for (let output = 0; output < outputs; output++) {
    const owner = outputOwners[output] ?? 0;
    const list = scores[owner];
    const total = totals?.[output] ?? 0;
    if (list === undefined || total === 0) continue;
    for (const [input, part] of energy.subarray(output * inputs, (output + 1) * inputs).entries()) {
      const feature = features[input];
      if (feature !== undefined)
        list[feature] = (list[feature] ?? 0) + part / total / (outputsOf[owner] ?? 1);
    }
  }
}

interface Candidate {
  readonly reads: Uint8Array;
  readonly feature: number;
  readonly score: number;
  readonly size: number;
}

/** Drops, in place, the features of least score until the kept ratio holds. What is dropped stays so. */
export function thin(
  values: readonly ExchangedValue[],
  scores: readonly (readonly Float64Array[])[],
  keep: number,
  scope: ThinningScope,
): void {
  const pools = values.map(({ owners, reads, featureSize }, at) =>
    reads.map((list, shard) =>
      owners.flatMap((owner, feature): Candidate[] =>
        owner === shard
          ? []
          : [{ reads: list, feature, score: scores[at]?.[shard]?.[feature] ?? 0, size: featureSize }],
      ),
    ),
  );
  for (const pool of scope === 'global' ? [pools.flat(2)] : pools.flat()) {
    const budget = keep * pool.reduce((sum, { size }) => sum + size, 0);
    dropBeyond(
      pool.filter(({ reads, feature }) => reads[feature] === 1),
      budget,
    );
  }
}

/** Keeps the best by score per element while the budget lasts (rounded to the nearest feature). */
function dropBeyond(pool: readonly Candidate[], budget: number): void {
  const best = pool.toSorted((a, b) => b.score / b.size - a.score / a.size);
  let used = 0;
  for (const { reads, feature, size } of best) {
    if (used + size / 2 > budget) reads[feature] = 0;
    else used += size;
  }
}
