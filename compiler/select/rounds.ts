/** In which round a value can travel: how many contractions lie before it on the longest path. Values of one depth share a round. */
import type { Graph } from '../../graph/graph.ts';
import { valuesRead } from '../../graph/sort.ts';
import type { Contraction } from '../calibrate/contractions.ts';
import type { RoundOf } from './budget.ts';

export function roundsByDepth(graph: Graph, contractions: readonly Contraction[]): RoundOf {
  const counted = new Set(contractions.map(({ node }) => node.name));
  const depths = new Map<string, number>();
  for (const node of graph.nodes) {
    const before = Math.max(0, ...valuesRead(node).map((name) => depths.get(name) ?? 0));
    const depth = before + (counted.has(node.name) ? 1 : 0);
    for (const output of node.outputs) depths.set(output, depth);
  }
  return ({ feature }) => depths.get(feature.value) ?? 0;
}
