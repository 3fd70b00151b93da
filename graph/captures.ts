/** Values that the subgraphs of If, Loop and Scan use from the graph around them, beside a node's listed inputs. */
import type { Attribute, Graph, Node } from './graph.ts';

function capturedByGraph(graph: Graph): Set<string> {
  const defined = new Set<string>([...graph.inputs.map(({ name }) => name), ...graph.initializers.keys()]);
  for (const node of graph.nodes) for (const output of node.outputs) defined.add(output);
  const used = new Set<string>(graph.outputs.map(({ name }) => name));
  for (const node of graph.nodes) {
    for (const input of node.inputs) used.add(input);
    for (const name of capturedNames(node)) used.add(name);
  }
  used.delete('');
  return new Set([...used].filter((name) => !defined.has(name)));
}

export function capturedNames(node: Node): string[] {
  const names = new Set<string>();
  for (const attribute of node.attributes.values()) {
    if (attribute.type !== 'graph') continue;
    for (const name of capturedByGraph(attribute.value)) names.add(name);
  }
  return [...names];
}

function renameInGraph(graph: Graph, names: ReadonlyMap<string, string>): Graph {
  const captured = capturedByGraph(graph);
  const rename = (name: string) => (captured.has(name) ? (names.get(name) ?? name) : name);
  return {
    ...graph,
    outputs: graph.outputs.map((output) => ({ ...output, name: rename(output.name) })),
    nodes: graph.nodes.map((node) =>
      renameCaptured(
        { ...node, inputs: node.inputs.map(rename) },
        new Map([...names].filter(([name]) => captured.has(name))),
      ),
    ),
  };
}

/** The node with captured values renamed inside its subgraphs. */
export function renameCaptured(node: Node, names: ReadonlyMap<string, string>): Node {
  const attributes = new Map(
    [...node.attributes].map(([name, attribute]): [string, Attribute] => [
      name,
      attribute.type === 'graph'
        ? { type: 'graph', value: renameInGraph(attribute.value, names) }
        : attribute,
    ]),
  );
  return { ...node, attributes };
}
