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

/** Symmetric energies between classes: those of class `id` lie from `starts[id]` to `starts[id + 1]`. */
interface Neighbours {
  readonly starts: Int32Array;
  readonly others: Int32Array;
  readonly energies: Float64Array;
}

/** Owner of each class; -1 for numbers that are none. */
type OwnerTable = Int32Array;

function tableOf(owners: Owners): OwnerTable {
  const largest = [...owners.keys()].reduce((a, b) => Math.max(a, b), -1);
  const table = new Int32Array(largest + 1).fill(-1);
  for (const [id, owner] of owners) table[id] = owner;
  return table;
}

function neighboursOf(blocks: readonly EnergyBlock[], classes: number): Neighbours {
  const sums = Array.from({ length: classes }, () => new Map<number, number>());
  const add = (a: number, b: number, energy: number) => {
    const row = sums[a];
    row?.set(b, (row.get(b) ?? 0) + energy);
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
  const starts = new Int32Array(classes + 1);
  for (const [id, row] of sums.entries()) starts[id + 1] = (starts[id] as number) + row.size;
  return {
    starts,
    others: Int32Array.from(sums.flatMap((row) => [...row.keys()])),
    energies: Float64Array.from(sums.flatMap((row) => [...row.values()])),
  };
}

/** One exact step: the owners of `part` that cross least, each shard keeping as many of them as it has. */
function improve(
  part: readonly number[],
  owners: OwnerTable,
  { starts, others, energies }: Neighbours,
  numShards: number,
): boolean {
  const inPart = new Uint8Array(owners.length);
  for (const id of part) inPart[id] = 1;
  const costs = part.map((id) => {
    const within = new Float64Array(numShards);
    let sum = 0;
    for (let i = starts[id] as number; i < (starts[id + 1] as number); i++) {
      const other = others[i] as number;
      if (inPart[other] === 1) continue;
      const energy = energies[i] as number;
      const owner = Math.max(0, owners[other] as number);
      within[owner] = (within[owner] ?? 0) + energy;
      sum += energy;
    }
    return Array.from(within, (value) => sum - value);
  });
  const slots = part.map((id) => owners[id] ?? 0);
  const before = slots.reduce((total, shard, row) => total + (costs[row]?.[shard] ?? 0), 0);
  const columns = assignRows(costs.map((row) => slots.map((shard) => row[shard] ?? 0)));
  const next = columns.map((column) => slots[column] ?? 0);
  const after = next.reduce((total, shard, row) => total + (costs[row]?.[shard] ?? 0), 0);
  if (!(after < before * (1 - 1e-12))) return false;
  // Members of a part that feed each other were held still: only a move that helps in truth is kept.
  const energyWithin = () => {
    let total = 0;
    for (const id of part) {
      for (let i = starts[id] as number; i < (starts[id + 1] as number); i++) {
        const other = others[i] as number;
        if (inPart[other] === 1 && owners[other] !== owners[id]) total += energies[i] as number;
      }
    }
    return total / 2;
  };
  const withinBefore = energyWithin();
  for (const [row, id] of part.entries()) owners[id] = next[row] ?? 0;
  if (after + energyWithin() < before + withinBefore) return true;
  for (const [row, id] of part.entries()) owners[id] = slots[row] ?? 0;
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
  start: OwnerTable,
  neighbours: Neighbours,
  random: () => number,
): OwnerTable {
  const owners = start.slice();
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
  const first = tableOf(start);
  const neighbours = neighboursOf(problem.blocks, first.length);
  const ownersOf = (table: OwnerTable): Owners =>
    new Map([...start.keys()].map((id) => [id, table[id] ?? 0]));
  let best = ownersOf(descend(problem, first, neighbours, random));
  let least = crossingEnergy(problem.blocks, best);
  for (let i = 0; i < restarts; i++) {
    const owners = ownersOf(descend(problem, mixed(problem, first, random), neighbours, random));
    const crossing = crossingEnergy(problem.blocks, owners);
    if (crossing >= least) continue;
    best = owners;
    least = crossing;
  }
  return best;
}

/** The owners of every group dealt anew. */
function mixed({ groups }: AssignProblem, start: OwnerTable, random: () => number): OwnerTable {
  const owners = start.slice();
  for (const group of groups) {
    const shards = shuffled(
      group.map((id) => start[id] ?? 0),
      random,
    );
    for (const [position, id] of group.entries()) owners[id] = shards[position] ?? 0;
  }
  return owners;
}
