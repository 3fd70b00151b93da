/**
 * Who owns which channels (RePurpose, Abdi et al.): classes of tied channels are dealt to shards so that as little energy
 * as possible crosses between them. One group of classes after another is solved exactly by Munkres' algorithm with the
 * others held, until the total stops falling. Only permutes: no output changes.
 */
import { assignRows } from '../linearAlgebra/munkres.ts';

/** Energy that class `from` adds to class `to`: what would cross if different shards owned them. */
export interface EnergyBlock {
  /** Class of each output channel and of each input channel. */
  readonly outputs: readonly number[];
  readonly inputs: readonly number[];
  /** outputs x inputs, row-major. */
  readonly energy: Float64Array;
}

export interface AssignProblem {
  readonly numShards: number;
  /** Classes that one value holds together, each spread over the shards by capacity. */
  readonly groups: readonly (readonly number[])[];
  readonly blocks: readonly EnergyBlock[];
}

export type Owners = ReadonlyMap<number, number>;

/** Munkres is cubic: larger groups are solved in random parts of this size, whose members change places. */
const partSize = 256;

export function crossingEnergy(blocks: readonly EnergyBlock[], owners: Owners): number {
  let total = 0;
  for (const { outputs, inputs, energy } of blocks) {
    outputs.forEach((output, o) => {
      const owner = owners.get(output);
      inputs.forEach((input, i) => {
        if (owners.get(input) !== owner) total += energy[o * inputs.length + i] ?? 0;
      });
    });
  }
  return total;
}

/** Symmetric energies between classes, as lists of neighbours. */
type Neighbours = ReadonlyMap<number, readonly (readonly [other: number, energy: number])[]>;

function neighboursOf(blocks: readonly EnergyBlock[]): Neighbours {
  const sums = new Map<number, Map<number, number>>();
  const add = (a: number, b: number, energy: number) => {
    const row = sums.get(a) ?? new Map<number, number>();
    sums.set(a, row);
    row.set(b, (row.get(b) ?? 0) + energy);
  };
  for (const { outputs, inputs, energy } of blocks) {
    outputs.forEach((output, o) => {
      inputs.forEach((input, i) => {
        const value = energy[o * inputs.length + i] ?? 0;
        if (output === input || value === 0) return;
        add(output, input, value);
        add(input, output, value);
      });
    });
  }
  return new Map([...sums].map(([id, row]) => [id, [...row]]));
}

/** One exact step: the owners of `part` that cross least, each shard keeping as many of them as it has. */
function improve(
  part: readonly number[],
  owners: Map<number, number>,
  neighbours: Neighbours,
  numShards: number,
): boolean {
  const inPart = new Set(part);
  const costs = part.map((id) => {
    const within = new Float64Array(numShards);
    let sum = 0;
    for (const [other, energy] of neighbours.get(id) ?? []) {
      if (inPart.has(other)) continue;
      const owner = owners.get(other) ?? 0;
      within[owner] = (within[owner] ?? 0) + energy;
      sum += energy;
    }
    return Array.from(within, (value) => sum - value);
  });
  const slots = part.map((id) => owners.get(id) ?? 0);
  const before = slots.reduce((total, shard, row) => total + (costs[row]?.[shard] ?? 0), 0);
  const columns = assignRows(costs.map((row) => slots.map((shard) => row[shard] ?? 0)));
  const next = columns.map((column) => slots[column] ?? 0);
  const after = next.reduce((total, shard, row) => total + (costs[row]?.[shard] ?? 0), 0);
  if (!(after < before * (1 - 1e-12))) return false;
  // Members of a part that feed each other were held still: only a move that helps in truth is kept.
  const energyWithin = () =>
    part.reduce(
      (total, id) =>
        total +
        (neighbours.get(id) ?? []).reduce(
          (sum, [other, energy]) =>
            inPart.has(other) && owners.get(other) !== owners.get(id) ? sum + energy : sum,
          0,
        ),
      0,
    ) / 2;
  const withinBefore = energyWithin();
  for (const [row, id] of part.entries()) owners.set(id, next[row] ?? 0);
  if (after + energyWithin() < before + withinBefore) return true;
  for (const [row, id] of part.entries()) owners.set(id, slots[row] ?? 0);
  return false;
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

function partsOf(group: readonly number[], random: () => number): readonly (readonly number[])[] {
  if (group.length <= partSize) return [group];
  const mixed = shuffled(group, random);
  return Array.from({ length: Math.ceil(mixed.length / partSize) }, (_, i) =>
    mixed.slice(i * partSize, (i + 1) * partSize),
  );
}

function descend(
  problem: AssignProblem,
  start: Owners,
  neighbours: Neighbours,
  random: () => number,
): Owners {
  const owners = new Map(start);
  for (let moved = true; moved; ) {
    moved = false;
    for (const group of problem.groups) {
      for (const part of partsOf(group, random)) {
        if (improve(part, owners, neighbours, problem.numShards)) moved = true;
      }
    }
  }
  return owners;
}

/** Never crosses more than `start`, whose share of each group it keeps. Tries `restarts` random beginnings too. */
export function assignOwners(
  problem: AssignProblem,
  start: Owners,
  restarts: number,
  random: () => number,
): Owners {
  const neighbours = neighboursOf(problem.blocks);
  let best = descend(problem, start, neighbours, random);
  let least = crossingEnergy(problem.blocks, best);
  for (let i = 0; i < restarts; i++) {
    const owners = descend(problem, mixed(problem, start, random), neighbours, random);
    const crossing = crossingEnergy(problem.blocks, owners);
    if (crossing >= least) continue;
    best = owners;
    least = crossing;
  }
  return best;
}

/** The owners of every group dealt anew. */
function mixed({ groups }: AssignProblem, start: Owners, random: () => number): Owners {
  const owners = new Map(start);
  for (const group of groups) {
    const shards = shuffled(
      group.map((id) => start.get(id) ?? 0),
      random,
    );
    for (const [position, id] of group.entries()) owners.set(id, shards[position] ?? 0);
  }
  return owners;
}
