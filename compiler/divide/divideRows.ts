/** An exact division by rows: every map cut into strips of equal height, all weights on every shard. */
import type { Graph } from '../../graph/graph.ts';
import { range } from '../../graph/ranges.ts';
import type { Sharding } from '../../runtime/lower/program.ts';
import type { DividedGraph } from './dividedGraph.ts';
import { rowAxes } from './followAxes.ts';
import { ownersAlong, partsByOwner } from './owners.ts';
import { graphStatistics, statisticsShardings } from './statisticsShardings.ts';

/** Owners of the strips of every map that can be cut into rows. */
export function rowShardings(
  graph: Graph,
  numShards: number,
  openBatch = true,
): ReadonlyMap<string, Sharding> {
  const shardings = new Map<string, Sharding>();
  const { nodes, axes, values } = rowAxes(graph, openBatch);
  const ownersOf = ownersAlong(graph, values, shardings);
  for (const { node, output, axis, rule, view } of nodes) {
    // What only moves data is made again from its inputs' strips and has no owner.
    if (rule.kind === 'structural') continue;
    const length = view.outputShape[axis] ?? 0;
    const [input = ''] = node.inputs;
    // Rows of a map that was reshaped lie scattered along the new axis: they stay with their owners.
    const moved =
      !shardings.has(input) && axes.get(input) === axis && values.get(input)?.shape[axis] === length;
    const owned = moved ? partsByOwner(ownersOf(input, axis), numShards) : undefined;
    const cut = (shard: number) => Math.round((shard * length) / numShards);
    const strips = () => Array.from({ length: numShards }, (_, shard) => range(cut(shard), cut(shard + 1)));
    shardings.set(output, { axis, parts: owned ?? strips() });
  }
  return shardings;
}

export function divideByRows(graph: Graph, numShards: number, openBatch = true): DividedGraph {
  const shardings = rowShardings(graph, numShards, openBatch);
  const divided = statisticsShardings(graphStatistics(graph), shardings, numShards);
  return { graph, division: { numShards, ...divided, sendFirst: true } };
}
