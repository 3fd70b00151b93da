/**
 * Writes layer normalisation that an exporter took apart (ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, and Mul and Add
 * of parameters) as the one operator it is: its moments then are exchanged in one round, and one kernel computes it.
 * Pattern, check, rewrite; a graph that computes something else, or uses a value in between, stays as it is.
 */
import { type Graph, intAttribute, intsAttribute, type Node } from '../../graph/graph.ts';
import { positiveAxis } from '../../graph/ops/rule.ts';
import { valuesRead } from '../../graph/sort.ts';
import { elementCount, float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import type { Pass } from './pass.ts';

export const fuseLayerNormalization: Pass = (model) => ({ ...model, graph: fused(model.graph) });

/** What the rule asks of a graph. */
class Links {
  readonly #producers: ReadonlyMap<string, Node>;
  readonly #readers = new Map<string, Node[]>();
  readonly #outputs: ReadonlySet<string>;
  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
    this.#outputs = new Set(graph.outputs.map(({ name }) => name));
    this.#producers = new Map(graph.nodes.flatMap((node) => node.outputs.map((output) => [output, node])));
    for (const node of graph.nodes) {
      for (const name of valuesRead(node))
        this.#readers.set(name, [...(this.#readers.get(name) ?? []), node]);
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

  shape(value: string): readonly number[] | undefined {
    const info = this.#graph.values.get(value) ?? this.#graph.inputs.find((input) => input.name === value);
    const shape = info?.shape?.filter((dim) => typeof dim === 'number');
    const concrete = info?.dataType === 'float32' && shape?.length === info.shape?.length;
    return concrete ? shape : undefined;
  }
}

interface Match {
  readonly nodes: readonly Node[];
  readonly input: string;
  readonly axis: number;
  readonly epsilon: number;
  readonly scale: string | undefined;
  readonly bias: string | undefined;
  readonly output: string;
}

/** The first axis of a mean that is taken over all axes from there on, and keeps them. */
function meanAxis(node: Node, rank: number): number | undefined {
  const axes = (intsAttribute(node, 'axes') ?? [])
    .map((axis) => positiveAxis(axis, rank))
    .sort((a, b) => a - b);
  const first = axes[0] ?? rank;
  const suffix = axes.length === rank - first && axes.every((axis, i) => axis === first + i);
  return suffix && first > 0 && intAttribute(node, 'keepdims', 1) === 1 ? first : undefined;
}

function scalarOf(tensor: Tensor | undefined): number | undefined {
  return tensor !== undefined && elementCount(tensor.dims) === 1 ? float32View(tensor)[0] : undefined;
}

/** The value that is squared. */
function squared(node: Node | undefined, links: Links): string | undefined {
  if (node?.opType === 'Mul' && node.inputs[0] === node.inputs[1]) return node.inputs[0];
  const two = node?.opType === 'Pow' ? scalarOf(links.constant(node.inputs[1])) : undefined;
  return two === 2 ? node?.inputs[0] : undefined;
}

/** The other input of a node that adds or multiplies with something constant. */
function constantOperand(node: Node, value: string, links: Links): string | undefined {
  const other = node.inputs[0] === value ? node.inputs[1] : node.inputs[0];
  return links.constant(other) === undefined ? undefined : other;
}

/** `divide` is deviation / standard deviation. */
function match(divide: Node, links: Links): Match | undefined {
  const [deviation = '', deviations = ''] = divide.inputs;
  const root = links.made(deviations, 'Sqrt');
  const sum = links.made(root?.inputs[0], 'Add');
  const [first, second] = sum?.inputs ?? [];
  const variance = links.made(first, 'ReduceMean') ?? links.made(second, 'ReduceMean');
  const epsilon = scalarOf(links.constant(first) ?? links.constant(second));
  const power = links.made(variance?.inputs[0], 'Pow') ?? links.made(variance?.inputs[0], 'Mul');
  const centred = links.made(deviation, 'Sub');
  const alike = links.made(squared(power, links), 'Sub');
  const mean = links.made(centred?.inputs[1], 'ReduceMean');
  const [input = ''] = centred?.inputs ?? [];
  if (!root || !sum || !variance || !power || !centred || !alike || !mean || epsilon === undefined)
    return undefined;
  // Some exporters write the deviation twice.
  if (alike.inputs.join() !== centred.inputs.join() || mean.inputs[0] !== input) return undefined;
  const shape = links.shape(input);
  const axis = shape && meanAxis(mean, shape.length);
  if (axis === undefined || meanAxis(variance, shape?.length ?? 0) !== axis) return undefined;
  const nodes = [...new Set([mean, centred, alike, power, variance, sum, root])];
  const all = [...nodes, divide];
  if (!nodes.every(({ outputs }) => outputs.every((output) => links.readOnlyBy(output, all))))
    return undefined;
  const own = shape?.slice(axis).join();
  let output = divide.outputs[0] ?? '';
  const parameter = (opType: string): string | undefined => {
    const reader = links.onlyReader(output);
    const operand =
      reader?.opType === opType && reader.domain === '' ? constantOperand(reader, output, links) : undefined;
    if (reader === undefined || operand === undefined || links.constant(operand)?.dims.join() !== own)
      return undefined;
    all.push(reader);
    output = reader.outputs[0] ?? '';
    return operand;
  };
  const scale = parameter('Mul');
  return { nodes: all, input, axis, epsilon, scale, bias: parameter('Add'), output };
}

function fused(graph: Graph): Graph {
  const links = new Links(graph);
  const initializers = new Map(graph.initializers);
  const removed = new Set<Node>();
  const written = new Map<Node, Node>();
  for (const node of graph.nodes) {
    const found = node.opType === 'Div' && node.domain === '' ? match(node, links) : undefined;
    if (found === undefined || found.nodes.some((one) => removed.has(one))) continue;
    const { nodes, input, axis, epsilon, bias, output } = found;
    let { scale } = found;
    if (scale === undefined) {
      const dims = links.shape(input)?.slice(axis) ?? [];
      scale = `${output}/ones`;
      initializers.set(scale, float32Tensor(dims, new Float32Array(elementCount(dims)).fill(1)));
    }
    for (const one of nodes) removed.add(one);
    written.set(nodes.at(-1) ?? node, {
      name: node.name,
      opType: 'LayerNormalization',
      domain: '',
      inputs: [input, scale, ...(bias === undefined ? [] : [bias])],
      outputs: [output],
      attributes: new Map([
        ['axis', { type: 'int', value: axis }],
        ['epsilon', { type: 'float', value: epsilon }],
      ]),
    });
  }
  if (written.size === 0) return graph;
  const nodes = graph.nodes.flatMap((node) => {
    const instead = written.get(node);
    return instead !== undefined ? [instead] : removed.has(node) ? [] : [node];
  });
  return { ...graph, nodes, initializers };
}
