/** The order of a graph's nodes, and what each of them reads, values captured by subgraphs included. */
import { StarlingError } from '../protocol/errors.ts';
import type { Graph, Node } from './graph.ts';

/** What a node's subgraphs (If, Loop, Scan) use of the graph around them. */
export function capturedNames(node: Node): readonly string[] {
  const captured = new Set<string>();
  for (const attribute of node.attributes.values()) {
    if (attribute.type !== 'graph') continue;
    for (const name of valuesCaptured(attribute.value)) captured.add(name);
  }
  return [...captured];
}

/** All values a node reads: its inputs, and what its subgraphs capture. */
export function valuesRead(node: Node): readonly string[] {
  const captured = capturedNames(node);
  const inputs = node.inputs.filter((name) => name !== '');
  return captured.length === 0 ? inputs : [...new Set([...inputs, ...captured])];
}

/** What a subgraph reads and does not define itself. */
export function valuesCaptured(graph: Graph): ReadonlySet<string> {
  const defined = new Set(graph.initializers.keys());
  for (const input of graph.inputs) defined.add(input.name);
  for (const node of graph.nodes) for (const output of node.outputs) defined.add(output);
  const captured = new Set<string>();
  for (const node of graph.nodes) for (const name of valuesRead(node)) captured.add(name);
  for (const output of graph.outputs) captured.add(output.name);
  for (const name of defined) captured.delete(name);
  return captured;
}

/**
 * Nodes in topological order, as near to the given order as possible. Values that no node produces are
 * taken as there from the start. Throws GRAPH_INVALID where nodes wait for each other.
 */
export function sortNodes(nodes: readonly Node[]): readonly Node[] {
  const producers = new Map<string, Node>();
  for (const node of nodes) for (const output of node.outputs) if (output !== '') producers.set(output, node);
  const sorted: Node[] = [];
  const state = new Map<Node, 'open' | 'done'>();
  for (const root of nodes) {
    // Depth first with a stack of its own: a chain of nodes may be longer than the call stack.
    const stack = [{ node: root, reads: valuesRead(root), next: 0 }];
    while (true) {
      const top = stack.at(-1);
      if (top === undefined) break;
      if (state.get(top.node) === 'done') {
        stack.pop();
        continue;
      }
      state.set(top.node, 'open');
      const name = top.reads[top.next++];
      if (name === undefined) {
        state.set(top.node, 'done');
        sorted.push(top.node);
        stack.pop();
        continue;
      }
      const producer = producers.get(name);
      if (producer === undefined || state.get(producer) === 'done') continue;
      if (state.get(producer) === 'open') {
        throw new StarlingError(
          'GRAPH_INVALID',
          `Node "${producer.name}" (${producer.opType}) needs, by way of value "${name}", its own output: the graph has a cycle.`,
        );
      }
      stack.push({ node: producer, reads: valuesRead(producer), next: 0 });
    }
  }
  return sorted;
}
