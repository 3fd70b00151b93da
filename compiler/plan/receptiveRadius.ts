/**
 * How far an output pixel sees in the first input, in input rows: what tiles must overlap by. Read off the row rules,
 * so it is exact for every operator that has one.
 */
import type { Graph } from '../../graph/graph.ts';
import { shapedValues, viewNode } from '../../graph/nodeView.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { type Ranges, range, union } from '../../graph/ranges.ts';

/** Undefined unless the first input and output are maps [N, C, H, W] and every step between divides by rows. */
export function receptiveRadius(graph: Graph): number | undefined {
  const [input] = graph.inputs;
  const [output] = graph.outputs;
  const values = shapedValues(graph);
  const inputRows = values.get(input?.name ?? '')?.shape[2];
  const outputRows = values.get(output?.name ?? '')?.shape[2];
  if (input === undefined || output === undefined || inputRows === undefined || outputRows === undefined) {
    return undefined;
  }
  const middle = Math.floor(outputRows / 2);
  const needed = new Map<string, Ranges>([[output.name, range(middle, middle + 1)]]);
  for (const node of graph.nodes.toReversed()) {
    const ranges = needed.get(node.outputs[0] ?? '');
    if (ranges === undefined) continue;
    const view = viewNode(graph, values, node);
    const needs = ruleOf(node)?.needs(view, { axis: 2, ranges });
    if (needs === undefined) return undefined;
    for (const [i, need] of needs.entries()) {
      const name = node.inputs[i] ?? '';
      if (need === 'none') continue;
      if (need === 'whole' || need.axis !== 2) return undefined;
      needed.set(name, union(needed.get(name) ?? [], need.ranges));
    }
  }
  const seen = needed.get(input.name);
  const [first] = seen ?? [];
  const last = seen?.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const centre = ((middle + 0.5) * inputRows) / outputRows - 0.5;
  return Math.ceil(Math.max(centre - first[0], last[1] - 1 - centre));
}
