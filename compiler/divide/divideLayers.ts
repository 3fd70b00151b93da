/**
 * A pipeline: whole layers, each on one shard, in the order of the graph and with about as many multiply-accumulates on
 * every shard. One run is no sooner there than on one device; several in flight keep all devices busy. It is what others
 * do, and here what dividing within layers is measured against.
 */
import type { Graph } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { nodeMacs } from '../../graph/ops/macs.ts';
import { noRanges, range } from '../../graph/ranges.ts';
import type { Division, Sharding } from '../../runtime/lower/program.ts';
import { channelAxes } from './followAxes.ts';

export function divideByLayers(graph: Graph, numShards: number, openBatch = true): Division {
  const values = shapedValues(graph);
  const macs = graph.nodes.map((node) => nodeMacs(graph, values, node));
  const total = macs.reduce((sum, one) => sum + one, 0);
  const shardOf = new Map<string, number>();
  let before = 0;
  for (const [index, { outputs }] of graph.nodes.entries()) {
    const own = macs[index] ?? 0;
    // By the middle of a node, so that a large one at a border falls to the side where most of it lies.
    const shard = total === 0 ? 0 : Math.floor((numShards * (before + own / 2)) / total);
    for (const output of outputs) shardOf.set(output, Math.min(numShards - 1, shard));
    before += own;
  }
  const shardings = new Map<string, Sharding>();
  for (const { output, axis, rule, view } of channelAxes(graph, openBatch).nodes) {
    // What only moves data is made again where it is read and has no owner.
    if (rule.kind === 'structural') continue;
    const all = range(0, view.outputShape[axis] ?? 0);
    const owner = shardOf.get(output);
    const parts = Array.from({ length: numShards }, (_, shard) => (shard === owner ? all : noRanges));
    shardings.set(output, { axis, parts });
  }
  return { numShards, shardings };
}
