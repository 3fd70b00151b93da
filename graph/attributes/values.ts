/** Attributes that are tensors or graphs: constants and branches. */
import type { Node } from '../graph.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../tensor.ts';
import { subgraph, tensor } from './read.ts';

/** The value of a Constant, whichever of its attributes holds it. A sparse one is dense since it was loaded. */
export function constantAttributes(node: Node): { readonly value: Tensor | undefined } {
  for (const [name, { type, value }] of node.attributes) {
    if (!name.startsWith('value')) continue;
    switch (type) {
      case 'tensor':
        return { value };
      case 'float':
        return { value: float32Tensor([], [value]) };
      case 'floats':
        return { value: float32Tensor([value.length], value) };
      case 'int':
        return { value: int64Tensor([value], []) };
      case 'ints':
        return { value: int64Tensor(value) };
      case 'string':
        return { value: stringTensor([value], []) };
      case 'strings':
        return { value: stringTensor(value, [value.length]) };
    }
  }
  return { value: undefined };
}

function stringTensor(strings: readonly string[], dims: readonly number[]): Tensor {
  const encoder = new TextEncoder();
  const bytes = strings.map((one) => encoder.encode(one));
  return { dataType: 'string', dims, data: new Uint8Array(0), strings: bytes };
}

/** One element. */
export const constantOfShapeAttributes = (node: Node) => ({
  value: tensor(node, 'value') ?? float32Tensor([1], [0]),
});

export const ifAttributes = (node: Node) => ({
  thenBranch: subgraph(node, 'then_branch'),
  elseBranch: subgraph(node, 'else_branch'),
});
