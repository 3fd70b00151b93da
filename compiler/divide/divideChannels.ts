/** A dense division by channels: every channel space spread evenly over the shards, runs of channels kept together. */
import type { Graph } from '../../graph/graph.ts';
import { fromIndices } from '../../graph/ranges.ts';
import type { Division, Sharding } from '../../runtime/lower/program.ts';
import { type ChannelClasses, channelClasses } from './channelSpaces.ts';
import { channelAxes } from './followAxes.ts';

/** Spreads remainders: without it the same shard would get the odd channel of every space. */
const goldenRatio = 0.618;

/** Where each shard's run begins; `phase` in [0, 1) decides which shards get one more. */
function cutsOf(length: number, numShards: number, phase: number): number[] {
  return Array.from({ length: numShards }, (_, shard) =>
    shard === 0 ? 0 : Math.floor((shard * length) / numShards + phase),
  );
}

/** Class -> owner. Classes that appear in the same values form one group, which is cut into equal runs. */
function ownersOf(classes: ChannelClasses, numShards: number): ReadonlyMap<number, number> {
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
  const owners = new Map<number, number>();
  for (const [group, ids] of [...groups.values()].entries()) {
    const cuts = cutsOf(ids.length, numShards, (group * goldenRatio) % 1);
    for (const [position, id] of ids.entries())
      owners.set(
        id,
        cuts.findLastIndex((cut) => cut <= position),
      );
  }
  return owners;
}

/** `openBatch`: whether the first axis of every value must stay whole because batches of any size may come. */
export function divideByChannels(graph: Graph, numShards: number, openBatch = true): Division {
  const axes = channelAxes(graph, openBatch);
  const classes = channelClasses(axes, numShards);
  const owners = ownersOf(classes, numShards);
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
