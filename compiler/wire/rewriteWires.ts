/**
 * A graph and its division written anew so that some values travel as others: each is turned into what travels, owned
 * like the value, and turned back wherever another shard reads it. A shard reads its own features as they are.
 */
import type { Graph, Node, ValueInfo } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { renameReads } from '../../graph/rename.ts';
import type { Tensor } from '../../graph/tensor.ts';
import type { Division, Sharding } from '../../runtime/lower/program.ts';
import type { DividedGraph } from '../divide/dividedGraph.ts';
import { crossingReads } from './crossingReads.ts';
import type { WireNode, WireNodes } from './wireNodes.ts';

/**
 * `wires`: value -> what it travels as; only values with owners. Partial sums are given up: whose features a device sums
 * would decide what they are read as, and every placement must compute the same.
 */
export function rewriteWires(
  { graph, division: { partials: _, ...division } }: DividedGraph,
  wires: ReadonlyMap<string, WireNodes>,
): DividedGraph {
  const crossing = crossingReads(graph, division);
  const rewriter = new Rewriter(graph, division);
  for (const node of graph.nodes) {
    rewriter.read(node, crossing.get(node) ?? new Set());
    for (const output of node.outputs) {
      const nodes = wires.get(output);
      if (nodes !== undefined) rewriter.narrow(output, nodes);
    }
  }
  return { graph: rewriter.graph, division: rewriter.division };
}

class Rewriter {
  readonly #original: Graph;
  readonly #division: Division;
  readonly #shaped: ReturnType<typeof shapedValues>;
  readonly #nodes: Node[] = [];
  readonly #initializers: Map<string, Tensor>;
  readonly #values: Map<string, ValueInfo>;
  readonly #shardings: Map<string, Sharding>;
  /** Value -> its name as others see it. */
  readonly #arrived = new Map<string, string>();
  readonly #used: Set<string>;

  constructor(graph: Graph, division: Division) {
    this.#original = graph;
    this.#division = division;
    this.#shaped = shapedValues(graph);
    this.#initializers = new Map(graph.initializers);
    this.#values = new Map(graph.values);
    this.#shardings = new Map(division.shardings);
    this.#used = new Set([...this.#shaped.keys(), ...graph.initializers.keys()]);
  }

  get graph(): Graph {
    const [nodes, initializers, values] = [this.#nodes, this.#initializers, this.#values];
    return { ...this.#original, nodes, initializers, values };
  }

  get division(): Division {
    const wires = new Map([...this.#arrived].map(([value, arrived]) => [arrived, value]));
    return { ...this.#division, shardings: this.#shardings, wires };
  }

  /** Takes over a node that reads these values of other shards. */
  read(node: Node, crossing: ReadonlySet<string>): void {
    const names = new Map(
      [...crossing].flatMap((value) => {
        const arrived = this.#arrived.get(value);
        return arrived === undefined ? [] : [[value, arrived] as const];
      }),
    );
    this.#nodes.push(names.size === 0 ? node : renameReads(node, names));
  }

  narrow(value: string, { send, arrive }: WireNodes): void {
    const sharding = this.#shardings.get(value);
    if (sharding === undefined) return;
    const last = send.at(-1);
    const sent = send.reduce(
      (input, node) => this.#write(value, input, node, node === last ? 'sent' : 'limited'),
      value,
    );
    this.#shardings.set(sent, sharding);
    this.#arrived.set(
      value,
      arrive.reduce((input, node) => this.#write(value, input, node, 'arrived'), sent),
    );
  }

  #write(value: string, input: string, node: WireNode, suffix: string): string {
    const { opType, operands, attributes, dataType } = node;
    const output = this.#fresh(`${value}/${suffix}`);
    const constants = operands.map((tensor, i) => {
      const name = this.#fresh(`${output}/operand${i}`);
      this.#initializers.set(name, tensor);
      return name;
    });
    this.#nodes.push({
      name: `wire:${output}`,
      opType,
      domain: '',
      inputs: [input, ...constants],
      outputs: [output],
      attributes: new Map(Object.entries(attributes)),
    });
    this.#values.set(output, { name: output, dataType, shape: this.#shaped.get(value)?.shape ?? [] });
    return output;
  }

  #fresh(hint: string): string {
    let name = hint;
    for (let n = 1; this.#used.has(name); n++) name = `${hint}@${n}`;
    this.#used.add(name);
    return name;
  }
}
