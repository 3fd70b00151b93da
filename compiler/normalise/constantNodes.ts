/** Turns Constant nodes into initializers, whichever of their attributes holds the value. */
import type { Attribute, Node } from '../../graph/graph.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
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
  for (const [name, attribute] of node.attributes) {
    const tensor = name.startsWith('value') ? tensorOf(attribute) : undefined;
    if (tensor !== undefined) return tensor;
  }
  throw new StarlingError('MODEL_UNSUPPORTED', `Node "${node.name}" (Constant) has no value.`);
}

function tensorOf(attribute: Attribute): Tensor | undefined {
  switch (attribute.type) {
    case 'tensor':
      return attribute.value;
    case 'float':
      return float32Tensor([], [attribute.value]);
    case 'floats':
      return float32Tensor([attribute.value.length], attribute.value);
    case 'int':
      return int64Tensor([attribute.value], []);
    case 'ints':
      return int64Tensor(attribute.value);
    case 'string':
      return stringTensor([attribute.value], []);
    case 'strings':
      return stringTensor(attribute.value, [attribute.value.length]);
    default:
      return undefined;
  }
}

function stringTensor(strings: readonly string[], dims: readonly number[]): Tensor {
  const encoder = new TextEncoder();
  return {
    dataType: 'string',
    dims,
    data: new Uint8Array(0),
    strings: strings.map((text) => encoder.encode(text)),
  };
}
