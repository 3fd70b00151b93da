/** Grows a graph node by node, for random networks; every value's shape is known. */
import type { Attribute, Node } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, float32View, int64Tensor, type Tensor } from '../../graph/tensor.ts';

export type Shape = readonly number[];

/** Adds a layer, or nothing where it does not fit; gives the layer's output. */
export type Step = (writer: GraphWriter, input: string) => string | undefined;

export class GraphWriter {
  readonly nodes: Node[] = [];
  readonly initializers = new Map<string, Tensor>();
  readonly shapes = new Map<string, Shape>();
  readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  pick(below: number): number {
    return Math.floor(this.random() * below);
  }

  shape(name: string): Shape {
    return this.shapes.get(name) ?? [];
  }

  node(opType: string, inputs: string[], shape: Shape, attributes: Record<string, Attribute> = {}): string {
    const name = `v${this.nodes.length}`;
    this.nodes.push({
      name: `n${name}`,
      opType,
      domain: '',
      inputs,
      outputs: [name],
      attributes: new Map(Object.entries(attributes)),
    });
    this.shapes.set(name, shape);
    return name;
  }

  weight(dims: Shape, scale: number): string {
    const name = `w${this.initializers.size}`;
    const tensor = randomTensor('float32', dims, this.random);
    const values = float32View(tensor);
    for (const [i, value] of values.entries()) values[i] = value * scale;
    this.initializers.set(name, tensor);
    return name;
  }

  scalar(value: number): string {
    const name = `w${this.initializers.size}`;
    this.initializers.set(name, float32Tensor([], [value]));
    return name;
  }

  integers(values: number[]): string {
    const name = `w${this.initializers.size}`;
    this.initializers.set(name, int64Tensor(values));
    return name;
  }
}
