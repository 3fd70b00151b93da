import { expect, test } from 'vitest';
import { seededRandom } from '../../graph/random.ts';
import {
  type AssignProblem,
  assignOwners,
  crossingEnergy,
  type EnergyBlock,
  type Owners,
} from './assignOwners.ts';

/** A chain of layers between groups of `size` classes, the first tied to the last as a shortcut ties them. */
function problem(seed: number, size: number, numShards: number): AssignProblem {
  const random = seededRandom(seed);
  const ids = (group: number) => Array.from({ length: size }, (_, i) => group * size + i);
  const block = (inputs: number, outputs: number): EnergyBlock => ({
    inputs: ids(inputs),
    outputs: ids(outputs),
    energy: Float64Array.from({ length: size * size }, () => random() ** 4),
  });
  return {
    numShards,
    groups: [ids(0), ids(1), ids(2)],
    blocks: [block(0, 1), block(1, 0), block(0, 2), block(2, 0)],
  };
}

function even({ groups, numShards }: AssignProblem): Owners {
  return new Map(
    groups.flatMap((group) =>
      group.map((id, i) => [id, Math.floor((i * numShards) / group.length)] as const),
    ),
  );
}

/** Every way to deal `shards` (a multiset) to positions. */
function deals(shards: readonly number[]): number[][] {
  if (shards.length === 0) return [[]];
  return [...new Set(shards)].flatMap((shard) => {
    const rest = [...shards];
    rest.splice(rest.indexOf(shard), 1);
    return deals(rest).map((deal) => [shard, ...deal]);
  });
}

function leastByTrying({ groups, blocks }: AssignProblem, start: Owners): number {
  const [first = [], second = [], third = []] = groups.map((group) =>
    deals(group.map((id) => start.get(id) ?? 0)).map((deal) =>
      group.map((id, i) => [id, deal[i] ?? 0] as const),
    ),
  );
  let least = Number.POSITIVE_INFINITY;
  for (const a of first)
    for (const b of second)
      for (const c of third) least = Math.min(least, crossingEnergy(blocks, new Map([...a, ...b, ...c])));
  return least;
}

test.each([1, 2, 3, 4, 5])('small problems are solved as well as by trying everything (seed %i)', (seed) => {
  for (const [size, numShards] of [
    [4, 2],
    [3, 3],
  ] as const) {
    const small = problem(seed, size, numShards);
    const start = even(small);
    const owners = assignOwners(small, start, 30, seededRandom(seed));
    expect(crossingEnergy(small.blocks, owners)).toBeCloseTo(leastByTrying(small, start), 10);
  }
});

test('never crosses more than the start, and every shard keeps its share of every group', () => {
  for (let seed = 10; seed < 20; seed++) {
    const large = problem(seed, 12, 3);
    // Capacities 4, 1, 1.
    const start = new Map([...even(large)].map(([id]) => [id, [0, 0, 0, 0, 1, 2][id % 6] ?? 0]));
    const owners = assignOwners(large, start, 0, seededRandom(seed));
    expect(crossingEnergy(large.blocks, owners)).toBeLessThan(crossingEnergy(large.blocks, start));
    for (const group of large.groups) {
      const shares = (of: Owners) =>
        [0, 1, 2].map((shard) => group.filter((id) => of.get(id) === shard).length);
      expect(shares(owners)).toEqual(shares(start));
    }
  }
});

test('a hidden division is found again', () => {
  const random = seededRandom(3);
  const size = 300;
  const ids = (group: number) => Array.from({ length: size }, (_, i) => group * size + i);
  const hidden = new Map([...ids(0), ...ids(1)].map((id) => [id, id % 2]));
  const energy = Float64Array.from({ length: size * size }, (_, i) => {
    const [output, input] = [size + Math.floor(i / size), i % size];
    return hidden.get(output) === hidden.get(input) ? random() : 0;
  });
  const blocks = [{ inputs: ids(0), outputs: ids(1), energy }];
  const start = new Map([...hidden].map(([id]) => [id, id % size < size / 2 ? 0 : 1]));
  const owners = assignOwners({ numShards: 2, groups: [ids(0), ids(1)], blocks }, start, 2, random);
  expect(crossingEnergy(blocks, owners)).toBeLessThan(0.01 * crossingEnergy(blocks, start));
});
