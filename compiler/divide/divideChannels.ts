/** A dense division by channels: every channel space spread evenly over the shards, runs of channels kept together. */
import type { Graph } from '../../graph/graph.ts';
import { fromIndices } from '../../graph/ranges.ts';
import type { Division, Sharding } from '../../runtime/lower/program.ts';
import { type ChannelClasses, channelClasses } from './channelSpaces.ts';
import { type Axes, channelAxes } from './followAxes.ts';

/** Spreads remainders: without it the same shard would get the odd channel of every space. */
const goldenRatio = 0.618;

/** Where each shard's run begins; `phase` in [0, 1) decides which shards get one more. */
function cutsOf(length: number, capacities: readonly number[], phase: number): number[] {
  const total = capacities.reduce((sum, capacity) => sum + capacity, 0);
  let before = 0;
  return capacities.map((capacity, shard) => {
    const cut = shard === 0 ? 0 : Math.floor((length * before) / total + phase);
    before += capacity;
    return cut;
  });
}

/** Class of tied channels -> owner. */
export type ClassOwners = ReadonlyMap<number, number>;

/** Classes that appear in the same values. */
export function classGroups(classes: ChannelClasses): readonly (readonly number[])[] {
  const seenIn = new Map<number, string[]>();
  for (const [value, list] of classes) {
    for (const id of list) {
      const values = seenIn.get(id) ?? [];
      values.push(value);
      seenIn.set(id, values);
    }
  }
  const groups = new Map<string, number[]>();
  for (const [id, values] of seenIn) {
    const signature = values.join('\n');
    groups.set(signature, [...(groups.get(signature) ?? []), id]);
  }
  return [...groups.values()];
}

/** Each group cut into one run per shard, as long as its capacity asks for. */
export function contiguousOwners(classes: ChannelClasses, capacities: readonly number[]): ClassOwners {
  const owners = new Map<number, number>();
  for (const [group, ids] of classGroups(classes).entries()) {
    const cuts = cutsOf(ids.length, capacities, (group * goldenRatio) % 1);
    for (const [position, id] of ids.entries())
      owners.set(
        id,
        cuts.findLastIndex((cut) => cut <= position),
      );
  }
  return owners;
}

export function equalCapacities(numShards: number): readonly number[] {
  return new Array<number>(numShards).fill(1);
}

/**
 * `openBatch`: whether the first axis of every value must stay whole because batches of any size may come; `statistics`:
 * whether values that exchange statistics have owners too.
 */
export function divideByChannels(
  graph: Graph,
  numShards: number,
  openBatch = true,
  statistics = false,
): Division {
  const axes = channelAxes(graph, openBatch, statistics);
  const classes = channelClasses(axes, numShards);
  return divisionByOwners(axes, classes, contiguousOwners(classes, equalCapacities(numShards)), numShards);
}

export function divisionByOwners(
  axes: Axes,
  classes: ChannelClasses,
  owners: ClassOwners,
  numShards: number,
): Division {
  const shardings = new Map<string, Sharding>();
  for (const { output, axis, rule } of axes.nodes) {
    // What only moves data is made again from its inputs' parts and has no owner.
    if (rule.kind === 'structural') continue;
    const list = classes.get(output) ?? [];
    const parts = Array.from({ length: numShards }, (_, shard) =>
      fromIndices(list.flatMap((id, channel) => (owners.get(id) === shard ? [channel] : []))),
    );
    shardings.set(output, { axis, parts });
  }
  return { numShards, shardings };
}
