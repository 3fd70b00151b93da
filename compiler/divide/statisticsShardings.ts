/** Which operators of a divided graph exchange statistics: those that take results over an axis whose indices have owners. */
import type { Graph } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { type StatisticsNode, statisticsOf } from '../../graph/ops/statistics/table.ts';
import type { Sharding } from '../../runtime/lower/program.ts';
import { ownersAlong, partsByOwner } from './owners.ts';

/** How a node's first input is divided along an axis over which the node takes its results; undefined where it is not. */
function inputSharding(
  { node, axes }: StatisticsNode,
  ownersOf: ReturnType<typeof ownersAlong>,
  numShards: number,
): Sharding | undefined {
  for (const axis of axes) {
    const owners = ownersOf(node.inputs[0] ?? '', axis);
    const parts = owners.length < 2 ? undefined : partsByOwner(owners, numShards);
    if (parts !== undefined) return { axis, parts };
  }
  return undefined;
}

/** By node name, as `Division.statistics`. `shardings`: the division so far; `without`: nodes that gather features. */
export function statisticsShardings(
  graph: Graph,
  shardings: ReadonlyMap<string, Sharding>,
  numShards: number,
  without: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, Sharding> {
  const values = shapedValues(graph);
  const ownersOf = ownersAlong(graph, values, shardings);
  return new Map(
    graph.nodes.flatMap((node): [string, Sharding][] => {
      const found = without.has(node.name) ? undefined : statisticsOf(graph, values, node);
      const sharding = found && inputSharding(found, ownersOf, numShards);
      if (found === undefined || sharding === undefined) return [];
      // A pointwise output without owners is made whole, of all features: statistics would be one round more.
      const own = shardings.get(node.outputs[0] ?? '')?.axis;
      return found.statistics.pointwise && own !== sharding.axis ? [] : [[node.name, sharding]];
    }),
  );
}
