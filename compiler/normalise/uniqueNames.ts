/** Gives every node a name of its own: some files repeat one, which onnxruntime refuses, and lifting may do so too. */
import type { Node } from '../../graph/graph.ts';
import type { Pass } from './pass.ts';

export const uniqueNames: Pass = (model) => ({
  ...model,
  graph: { ...model.graph, nodes: withUniqueNames(model.graph.nodes) },
});

/** Nodes without a name keep none. */
export function withUniqueNames(nodes: readonly Node[]): readonly Node[] {
  const taken = new Set<string>();
  return nodes.map((node) => {
    let { name } = node;
    if (name === '') return node;
    for (let i = 1; taken.has(name); i++) name = `${node.name}_${i}`;
    taken.add(name);
    return name === node.name ? node : { ...node, name };
  });
}
