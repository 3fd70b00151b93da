/** Turns Constant nodes into initializers, whichever of their attributes holds the value. */
import { constantAttributes } from '../../graph/attributes/values.ts';
import type { Node } from '../../graph/graph.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Pass } from './pass.ts';

export const constantNodesToInitializers: Pass = (model) => {
  const { graph } = model;
  const initializers = new Map(graph.initializers);
  const nodes = graph.nodes.filter((node) => {
    if (node.opType !== 'Constant' || node.domain !== '') return true;
    initializers.set(node.outputs[0] ?? '', constantOf(node));
    return false;
  });
  // What an initializer is worth does not depend on the caller any more.
  const { overridable: _, ...rest } = graph;
  return { ...model, graph: { ...rest, nodes, initializers } };
};

function constantOf(node: Node): Tensor {
  const { value } = constantAttributes(node);
  if (value !== undefined) return value;
  throw new StarlingError('MODEL_UNSUPPORTED', `Node "${node.name}" (Constant) has no value.`);
}
