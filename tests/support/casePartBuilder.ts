/** Collects what a rule emits for one part as nodes and initializers of a test graph. */
import type { Attribute, Node } from '../../graph/graph.ts';
import type { PartBuilder } from '../../graph/ops/rule.ts';
import type { Ranges } from '../../graph/ranges.ts';
import { cutSlab } from '../../graph/slabs.ts';
import type { Tensor } from '../../graph/tensor.ts';

export class CasePartBuilder implements PartBuilder {
  readonly nodes: Node[] = [];
  readonly initializers = new Map<string, Tensor>();
  macs = 0;
  readonly #prefix: string;
  readonly #weights: ReadonlyMap<string, Tensor>;
  #names = 0;

  /** `weights`: the initializers of the whole node, by name. */
  constructor(prefix: string, weights: ReadonlyMap<string, Tensor>) {
    this.#prefix = prefix;
    this.#weights = weights;
  }

  node(
    opType: string,
    inputs: readonly string[],
    attributes: ReadonlyMap<string, Attribute>,
    output: string = this.#fresh('value'),
  ): string {
    const name = this.#fresh(opType);
    this.nodes.push({ name, opType, domain: '', inputs, outputs: [output], attributes });
    return output;
  }

  weight(initializer: string, selections: Readonly<Record<number, Ranges>>): string {
    let tensor = this.#weights.get(initializer);
    if (tensor === undefined) throw new Error(`"${initializer}" is no initializer.`);
    for (const [axis, ranges] of Object.entries(selections)) {
      tensor = cutSlab(tensor, { axis: Number(axis), ranges });
    }
    return this.constant(tensor, 'weight');
  }

  constant(tensor: Tensor, hint: string): string {
    const name = this.#fresh(hint);
    this.initializers.set(name, tensor);
    return name;
  }

  countMacs(count: number): void {
    this.macs += count;
  }

  #fresh(hint: string): string {
    this.#names++;
    return `${this.#prefix}${hint}${this.#names}`;
  }
}
