/** What a pattern of nodes asks of a graph: who makes a value, who reads it, what it is worth. */
import type { Graph, Node } from './graph.ts';
import { valuesRead } from './sort.ts';
import { elementCount, float32View, type Tensor } from './tensor.ts';

export class GraphLinks {
  readonly #producers: ReadonlyMap<string, Node>;
  readonly #readers = new Map<string, Node[]>();
  readonly #outputs: ReadonlySet<string>;
  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
    this.#outputs = new Set(graph.outputs.map(({ name }) => name));
    this.#producers = new Map(graph.nodes.flatMap((node) => node.outputs.map((output) => [output, node])));
    for (const node of graph.nodes) {
      for (const name of valuesRead(node)) {
        const readers = this.#readers.get(name);
        if (readers === undefined) this.#readers.set(name, [node]);
        else readers.push(node);
      }
    }
  }

  /** The node behind a value, if it is that operator of ONNX's own. */
  made(value: string | undefined, opType: string): Node | undefined {
    const node = this.#producers.get(value ?? '');
    return node?.opType === opType && node.domain === '' ? node : undefined;
  }

  /** The only node that reads a value, which is no output of the graph. */
  onlyReader(value: string): Node | undefined {
    const readers = this.#readers.get(value) ?? [];
    return readers.length === 1 && !this.#outputs.has(value) ? readers[0] : undefined;
  }

  /** Whether a value is read by these nodes alone. */
  readOnlyBy(value: string, nodes: readonly Node[]): boolean {
    return !this.#outputs.has(value) && (this.#readers.get(value) ?? []).every((one) => nodes.includes(one));
  }

  constant(value: string | undefined): Tensor | undefined {
    const tensor = this.#graph.initializers.get(value ?? '');
    return tensor?.dataType === 'float32' ? tensor : undefined;
  }

  /** The one element of a constant. */
  scalar(value: string | undefined): number | undefined {
    const tensor = this.constant(value);
    return tensor !== undefined && elementCount(tensor.dims) === 1 ? float32View(tensor)[0] : undefined;
  }

  shape(value: string): readonly number[] | undefined {
    const info = this.#graph.values.get(value) ?? this.#graph.inputs.find((input) => input.name === value);
    const shape = info?.shape?.filter((dim) => typeof dim === 'number');
    const concrete = info?.dataType === 'float32' && shape?.length === info.shape?.length;
    return concrete ? shape : undefined;
  }

  /** The value that is squared to make this one, by Mul or by Pow. */
  squareRoot(value: string | undefined): string | undefined {
    const product = this.made(value, 'Mul');
    if (product !== undefined) return product.inputs[0] === product.inputs[1] ? product.inputs[0] : undefined;
    const power = this.made(value, 'Pow');
    return this.scalar(power?.inputs[1]) === 2 ? power?.inputs[0] : undefined;
  }
}
