/**
 * Collects the nodes and initializers of the graph that an import makes. Values are N x C x H x W; a value is known
 * by its name and its channels, because the weights of a TF.js layer fix nothing else. Knows no layer.
 */
import type { Attribute, Node } from '../../graph/graph.ts';
import type { Tensor } from '../../graph/tensor.ts';

export interface ImportedValue {
  readonly name: string;
  readonly channels: number;
}

export const int = (value: number): Attribute => ({ type: 'int', value });
export const float = (value: number): Attribute => ({ type: 'float', value });
export const ints = (value: readonly number[]): Attribute => ({ type: 'ints', value });
export const text = (value: string): Attribute => ({ type: 'string', value });

export class GraphBuilder {
  readonly nodes: Node[] = [];
  readonly initializers = new Map<string, Tensor>();

  /** Adds a node with one output, named like the node; '' among the inputs is an absent one. */
  node(
    opType: string,
    name: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
  ): string {
    this.nodes.push({
      name,
      opType,
      domain: '',
      inputs,
      outputs: [name],
      attributes: new Map(Object.entries(attributes)),
    });
    return name;
  }

  /** Adds an initializer once; a layer that is called twice shares its weights. */
  initializer(name: string, tensor: Tensor): string {
    if (!this.initializers.has(name)) this.initializers.set(name, tensor);
    return name;
  }
}
