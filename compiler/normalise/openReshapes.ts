/**
 * Lets reshapes keep whatever first length comes in where they keep it now: folding made shapes constant, and a
 * constant batch of 1 would close a batch axis that the file left open.
 */
import { reshapeAttributes } from '../../graph/attributes/moves.ts';
import type { Graph, Node } from '../../graph/graph.ts';
import { int64Tensor, readIntegers, type Tensor } from '../../graph/tensor.ts';
import type { Pass } from './pass.ts';

export const openReshapes: Pass = (model) => ({ ...model, graph: opened(model.graph) });

function opened(graph: Graph): Graph {
  const shapes = new Map([...graph.inputs, ...graph.values.values()].map(({ name, shape }) => [name, shape]));
  const initializers = new Map(graph.initializers);
  const [batch] = graph.inputs[0]?.shape ?? [];
  const nodes = graph.nodes.map((node): Node => {
    const [input = '', target = ''] = node.inputs;
    const tensor = initializers.get(target);
    if (tensor === undefined || !keepsBatch(node, tensor, shapes.get(input)?.[0], batch)) return node;
    // In Reshape, 0 copies the length of the input's same axis.
    const name = `${node.name}/shape`;
    if (initializers.has(name) && name !== target) return node;
    initializers.set(name, int64Tensor([0, ...readIntegers(tensor).slice(1)]));
    return { ...node, inputs: [input, name] };
  });
  return { ...graph, nodes, initializers };
}

function keepsBatch(node: Node, target: Tensor, first: unknown, batch: unknown): boolean {
  if (node.opType !== 'Reshape' || node.domain !== '' || reshapeAttributes(node).allowzero) return false;
  return (
    target.dims[0] !== 0 && typeof batch === 'number' && first === batch && readIntegers(target)[0] === batch
  );
}
