/** An exact division by rows: every map cut into strips of equal height, all weights on every shard. */
import type { Graph } from '../../graph/graph.ts';
import { range } from '../../graph/ranges.ts';
import type { Sharding } from '../../runtime/lower/program.ts';
import type { DividedGraph } from './dividedGraph.ts';
import { rowAxes } from './followAxes.ts';
import { statisticsShardings } from './statisticsShardings.ts';

/** Owners of the strips of every map that can be cut into rows. */
export function rowShardings(
  graph: Graph,
  numShards: number,
  openBatch = true,
): ReadonlyMap<string, Sharding> {
  const shardings = new Map<string, Sharding>();
  for (const { output, axis, rule, view } of rowAxes(graph, openBatch).nodes) {
    // What only moves data is made again from its inputs' strips and has no owner.
    if (rule.kind === 'structural') continue;
    const length = view.outputShape[axis] ?? 0;
    const cut = (shard: number) => Math.round((shard * length) / numShards);
    const parts = Array.from({ length: numShards }, (_, shard) => range(cut(shard), cut(shard + 1)));
    shardings.set(output, { axis, parts });
  }
  return shardings;
}

export function divideByRows(graph: Graph, numShards: number, openBatch = true): DividedGraph {
  const shardings = rowShardings(graph, numShards, openBatch);
  const statistics = statisticsShardings(graph, shardings, numShards);
  return { graph, division: { numShards, shardings, statistics, sendFirst: true } };
}
