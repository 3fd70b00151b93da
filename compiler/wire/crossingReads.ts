/** Which nodes read features of other shards, and of which values: the edges on which a value travels. Found by lowering with one shard on each device. */
import type { Graph, Node } from '../../graph/graph.ts';
import type { Need } from '../../graph/ops/rule.ts';
import { type Ranges, range, subtract } from '../../graph/ranges.ts';
import { Demands } from '../../runtime/lower/demand.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { RoomGraph } from '../../runtime/lower/roomGraph.ts';
import { expandStatistics } from '../../runtime/lower/statistics.ts';

/** Node -> values of which some shard that makes a part of the node's output reads features it does not own. */
export type CrossingReads = ReadonlyMap<Node, ReadonlySet<string>>;

export function crossingReads(graph: Graph, division: Division): CrossingReads {
  const placement = oneShardEach(division.numShards);
  const expanded = expandStatistics(graph, division, placement);
  const room = new RoomGraph(expanded.graph, expanded.division, expanded.constants);
  const demands = new Demands(room, placement);
  const crosses = (value: string, need: Need, shard: number): boolean => {
    const sharding = room.sharding(value);
    if (sharding === undefined || need === 'none') return false;
    const along = need !== 'whole' && need.axis === sharding.axis;
    const read: Ranges = along ? need.ranges : range(0, room.shape(value)[sharding.axis] ?? 0);
    return subtract(read, sharding.parts[shard] ?? []).length > 0;
  };
  const crossing = new Map<Node, Set<string>>();
  for (const facts of room.facts) {
    for (const shard of placement.keys()) {
      const wants = facts.node.outputs.flatMap((output) => [...demands.produced(shard, output)]);
      for (const { needs } of wants.flatMap((want) => room.produce(facts, want, [shard]))) {
        for (const [i, need] of needs.entries()) {
          const value = facts.inputs[i] ?? '';
          if (!crosses(value, need, shard)) continue;
          const values = crossing.get(facts.node) ?? new Set();
          crossing.set(facts.node, values.add(value));
        }
      }
    }
  }
  return crossing;
}
