/** The same node reading other values: renames inputs, and what its subgraphs capture from outside. */
import type { Attribute, Graph, Node } from './graph.ts';

/** Names absent from the map stay. The node itself is returned where nothing changes. */
export function renameReads(node: Node, names: ReadonlyMap<string, string>): Node {
  const changed = node.inputs.some((name) => names.has(name));
  const inputs = changed ? node.inputs.map((name) => names.get(name) ?? name) : node.inputs;
  let attributes: Map<string, Attribute> | undefined;
  for (const [key, attribute] of node.attributes) {
    if (attribute.type !== 'graph') continue;
    attributes ??= new Map(node.attributes);
    attributes.set(key, { type: 'graph', value: renameCaptured(attribute.value, names) });
  }
  if (!changed && attributes === undefined) return node;
  return { ...node, inputs, attributes: attributes ?? node.attributes };
}

function renameCaptured(graph: Graph, names: ReadonlyMap<string, string>): Graph {
  const visible = new Map(names);
  for (const input of graph.inputs) visible.delete(input.name);
  for (const name of graph.initializers.keys()) visible.delete(name);
  for (const node of graph.nodes) for (const output of node.outputs) visible.delete(output);
  return {
    ...graph,
    nodes: graph.nodes.map((node) => renameReads(node, visible)),
    outputs: graph.outputs.map((output) => ({ ...output, name: visible.get(output.name) ?? output.name })),
  };
}
