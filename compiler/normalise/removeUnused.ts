/** Removes nodes, initializers and value notes that no output depends on, and optional outputs nobody reads. */
import type { Graph, Node } from '../../graph/graph.ts';
import { valuesRead } from '../../graph/sort.ts';
import type { Pass } from './pass.ts';

/** Operators whose outputs after the first are optional; others (Split) mean something by their number. */
const optionalOutputs: ReadonlySet<string> = new Set([
  'BatchNormalization',
  'Dropout',
  'LayerNormalization',
  'MaxPool',
]);

export const removeUnused: Pass = (model) => ({ ...model, graph: withoutUnused(model.graph) });

function withoutUnused(graph: Graph): Graph {
  const used = new Set(graph.outputs.map((output) => output.name));
  const nodes: Node[] = [];
  for (const node of graph.nodes.toReversed()) {
    if (!node.outputs.some((output) => used.has(output))) continue;
    for (const name of valuesRead(node)) used.add(name);
    nodes.push(trimmed(node, used));
  }
  const produced = new Set(nodes.flatMap((node) => node.outputs));
  return {
    ...graph,
    nodes: nodes.reverse(),
    initializers: new Map([...graph.initializers].filter(([name]) => used.has(name))),
    values: new Map([...graph.values].filter(([name]) => produced.has(name))),
  };
}

function trimmed(node: Node, used: ReadonlySet<string>): Node {
  if (node.domain !== '' || !optionalOutputs.has(node.opType)) return node;
  const outputs = node.outputs.map((name, i) => (i === 0 || used.has(name) ? name : ''));
  while (outputs.at(-1) === '') outputs.pop();
  return outputs.length === node.outputs.length ? node : { ...node, outputs };
}
