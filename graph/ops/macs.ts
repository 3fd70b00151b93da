/** Multiply-accumulates of nodes and graphs before they are divided; operators that multiply nothing have none. */
import type { Graph, Node } from '../graph.ts';
import { type ShapedValue, shapedValues, viewNode } from '../nodeView.ts';
import { ruleOf } from './rules.ts';

/** `values` is what shapedValues gave for this graph. */
export function nodeMacs(graph: Graph, values: ReadonlyMap<string, ShapedValue>, node: Node): number {
  return ruleOf(node)?.macs?.(viewNode(graph, values, node)) ?? 0;
}

/** Throws GRAPH_INVALID where a shape is missing or open. */
export function graphMacs(graph: Graph): number {
  const values = shapedValues(graph);
  return graph.nodes.reduce((sum, node) => sum + nodeMacs(graph, values, node), 0);
}
