/** Which operators of a divided graph exchange statistics: those that take results over an axis whose indices have owners. */
import type { Graph } from '../../graph/graph.ts';
import { type ShapedValue, shapedValues } from '../../graph/nodeView.ts';
import { pointwiseNeeds, type StatisticsNode, statisticsOf } from '../../graph/ops/statistics/table.ts';
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

/** A graph's operators with statistics, in its order; looked for once, as a search divides a graph many times. */
export interface GraphStatistics {
  readonly graph: Graph;
  readonly values: ReadonlyMap<string, ShapedValue>;
  readonly nodes: readonly StatisticsNode[];
}

export function graphStatistics(graph: Graph): GraphStatistics {
  const values = shapedValues(graph);
  return { graph, values, nodes: graph.nodes.flatMap((node) => statisticsOf(graph, values, node) ?? []) };
}

/** What `Division` says of owners and of statistics. */
export interface OwnersAndStatistics {
  readonly shardings: ReadonlyMap<string, Sharding>;
  readonly statistics: ReadonlyMap<string, Sharding>;
}

/**
 * `shardings`: the division so far; `without`: nodes that gather features. A result that has the divided axis still, and no
 * statistics, has no owners: it is made whole of all features.
 */
export function statisticsShardings(
  { graph, values, nodes }: GraphStatistics,
  shardings: ReadonlyMap<string, Sharding>,
  numShards: number,
  without: ReadonlySet<string> = new Set(),
): OwnersAndStatistics {
  const owned = new Map(shardings);
  const statistics = new Map<string, Sharding>();
  if (nodes.length === 0) return { shardings: owned, statistics };
  const ownersOf = ownersAlong(graph, values, owned);
  for (const found of nodes) {
    const { node } = found;
    const [output = ''] = node.outputs;
    const sharding = without.has(node.name) ? undefined : inputSharding(found, ownersOf, numShards);
    const own = owned.get(output)?.axis;
    const exchanged = sharding !== undefined && (!found.statistics.pointwise || own === sharding.axis);
    if (exchanged) statistics.set(node.name, sharding);
    else if (own !== undefined && pointwiseNeeds(found, { axis: own, ranges: [] }) !== undefined)
      owned.delete(output);
  }
  return { shardings: owned, statistics };
}
