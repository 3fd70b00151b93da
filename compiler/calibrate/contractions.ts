/**
 * The contractions of a graph whose weights a sparse division may thin or fit: Conv with one group or one for each channel,
 * Gemm and MatMul with a constant second operand. Each is seen as a matrix: one row per output channel, `taps` columns per input channel.
 */
import { concatAttributes } from '../../graph/attributes/moves.ts';
import { gemmAttributes } from '../../graph/attributes/products.ts';
import { convAttributes } from '../../graph/attributes/windows.ts';
import type { Graph, Node } from '../../graph/graph.ts';
import { shapedValues, viewNode } from '../../graph/nodeView.ts';
import { type NodeView, positiveAxis } from '../../graph/ops/rule.ts';
import { elementCount, float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';

export interface Contraction {
  readonly node: Node;
  readonly view: NodeView;
  /** The value whose channels it reads, and their axis. */
  readonly input: string;
  /** Values whose channels, one after another, are the input's: it alone, or what it concatenates. */
  readonly inputParts: readonly string[];
  readonly inputAxis: number;
  readonly inputChannels: number;
  readonly output: string;
  readonly outputAxis: number;
  readonly outputChannels: number;
  /** Kernel elements: columns of the matrix per input channel. */
  readonly taps: number;
  readonly weight: string;
  /** Whether the stored weight holds inputs before outputs. */
  readonly transposed: boolean;
  /** Absent where the node has none (and MatMul cannot have one). */
  readonly bias: string | undefined;
  /** Each output channel reads the input channel of its number alone; its weight is stored as that alone. */
  readonly depthwise: boolean;
}

/** Those that may be thinned, in the graph's order. */
export function findContractions(graph: Graph): readonly Contraction[] {
  return findFitted(graph).filter(({ depthwise }) => !depthwise);
}

/** All whose weights can be fitted: depthwise convolutions too, of which nothing can be thinned. In the graph's order. */
export function findFitted(graph: Graph): readonly Contraction[] {
  const values = shapedValues(graph);
  const partsOf = concatenatedParts(graph, values);
  return graph.nodes.flatMap((node) => {
    const found = node.domain === '' ? contractionOf(graph, viewNode(graph, values, node)) : undefined;
    return found === undefined ? [] : [{ ...found, inputParts: partsOf(found.input, found.inputAxis) }];
  });
}

/** What a value concatenates along an axis, as far as it is computed. */
function concatenatedParts(
  graph: Graph,
  values: ReturnType<typeof shapedValues>,
): (value: string, axis: number) => readonly string[] {
  const concatenations = new Map(
    graph.nodes.flatMap((node) =>
      node.opType === 'Concat' && node.domain === '' ? [[node.outputs[0] ?? '', node] as const] : [],
    ),
  );
  const computed = new Set(graph.nodes.flatMap(({ outputs }) => outputs));
  return (value, axis) => {
    const node = concatenations.get(value);
    if (node === undefined) return [value];
    const rank = values.get(value)?.shape?.length ?? 0;
    const same = positiveAxis(concatAttributes(node).axis, rank) === axis;
    return same && node.inputs.every((name) => computed.has(name)) ? node.inputs : [value];
  };
}

function contractionOf(graph: Graph, view: NodeView): Omit<Contraction, 'inputParts'> | undefined {
  const { node } = view;
  const [input = '', weight = '', bias = ''] = node.inputs;
  const tensor = graph.initializers.get(weight);
  if (tensor?.dataType !== 'float32' || graph.initializers.has(input)) return undefined;
  const shape = view.inputShape(0);
  const common = { node, view, input, weight, output: node.outputs[0] ?? '', depthwise: false };
  if (node.opType === 'Conv') {
    const { group } = convAttributes(node, 0);
    const [outputChannels = 0, perGroup = 0, ...kernel] = tensor.dims;
    const depthwise = group > 1 && group === outputChannels && perGroup === 1;
    if (group !== 1 && !depthwise) return undefined;
    return {
      ...common,
      inputAxis: 1,
      outputAxis: 1,
      inputChannels: perGroup * group,
      outputChannels,
      taps: elementCount(kernel),
      transposed: false,
      bias: bias === '' ? undefined : bias,
      depthwise,
    };
  }
  if (tensor.dims.length !== 2) return undefined;
  const [rows = 0, columns = 0] = tensor.dims;
  const matrix = { ...common, inputAxis: shape.length - 1, outputAxis: view.outputShape.length - 1, taps: 1 };
  if (node.opType === 'Gemm') {
    const { alpha, beta, transA, transB } = gemmAttributes(node);
    const plain = !transA && alpha === 1 && beta === 1;
    const transposed = !transB;
    const [inputChannels, outputChannels] = transposed ? [rows, columns] : [columns, rows];
    const oneEach = bias === '' || elementCount(graph.initializers.get(bias)?.dims ?? []) === outputChannels;
    if (!plain || !oneEach) return undefined;
    return { ...matrix, inputChannels, outputChannels, transposed, bias: bias === '' ? undefined : bias };
  }
  if (node.opType !== 'MatMul' || shape.length < 2) return undefined;
  return { ...matrix, inputChannels: rows, outputChannels: columns, transposed: true, bias: undefined };
}

/** outputChannels x (inputChannels * taps), row-major; zero where a depthwise one reads nothing. */
export function readWeights(graph: Graph, contraction: Contraction): Float64Array {
  const stored = float32View(tensorOf(graph, contraction.weight));
  const { outputChannels, inputChannels, transposed, depthwise, taps } = contraction;
  if (depthwise) {
    const weights = new Float64Array(outputChannels * inputChannels * taps);
    for (let o = 0; o < outputChannels; o++)
      weights.set(stored.subarray(o * taps, (o + 1) * taps), (o * inputChannels + o) * taps);
    return weights;
  }
  if (!transposed) return Float64Array.from(stored);
  const weights = new Float64Array(stored.length);
  for (let i = 0; i < inputChannels; i++) {
    for (let o = 0; o < outputChannels; o++)
      weights[o * inputChannels + i] = stored[i * outputChannels + o] ?? 0;
  }
  return weights;
}

function readBias(graph: Graph, { bias, outputChannels }: Contraction): Float64Array {
  return bias === undefined
    ? new Float64Array(outputChannels)
    : Float64Array.from(float32View(tensorOf(graph, bias)));
}

/** outputs x width: the weights, the bias last. */
export function withBias(graph: Graph, contraction: Contraction): Float64Array {
  const weights = readWeights(graph, contraction);
  const bias = readBias(graph, contraction);
  const columns = weights.length / bias.length;
  const result = new Float64Array(weights.length + bias.length);
  bias.forEach((value, output) => {
    result.set(weights.subarray(output * columns, (output + 1) * columns), output * (columns + 1));
    result[(output + 1) * (columns + 1) - 1] = value;
  });
  return result;
}

/** The graph with other weights, and with a bias where the contraction can have one. */
export function withWeights(
  graph: Graph,
  contraction: Contraction,
  weights: Float64Array,
  bias: Float64Array,
): Graph {
  const { outputChannels, inputChannels, transposed, depthwise, taps, node } = contraction;
  const dims = tensorOf(graph, contraction.weight).dims;
  const stored = new Float32Array(elementCount(dims));
  if (depthwise) {
    for (let o = 0; o < outputChannels; o++) {
      const start = (o * inputChannels + o) * taps;
      stored.set(weights.subarray(start, start + taps), o * taps);
    }
  } else if (transposed) {
    for (let i = 0; i < inputChannels; i++) {
      for (let o = 0; o < outputChannels; o++)
        stored[i * outputChannels + o] = weights[o * inputChannels + i] ?? 0;
    }
  } else stored.set(weights);
  const initializers = new Map(graph.initializers);
  // A weight that other nodes share stays theirs: this node gets one of its own.
  const shared = (name: string) => graph.nodes.filter(({ inputs }) => inputs.includes(name)).length > 1;
  const ownName = (name: string) => (shared(name) ? `${name}__${node.name}` : name);
  const weightName = ownName(contraction.weight);
  initializers.set(weightName, float32Tensor(dims, stored));
  const inputs = [node.inputs[0] ?? '', weightName];
  if (canHaveBias(contraction)) {
    const biasName = contraction.bias === undefined ? `${weightName}__bias` : ownName(contraction.bias);
    const biasDims =
      contraction.bias === undefined ? [outputChannels] : tensorOf(graph, contraction.bias).dims;
    initializers.set(biasName, float32Tensor(biasDims, Float32Array.from(bias)));
    inputs.push(biasName);
  }
  const nodes = graph.nodes.map((other) => (other.name === node.name ? { ...other, inputs } : other));
  return { ...graph, nodes, initializers };
}

export function canHaveBias({ node }: Contraction): boolean {
  return node.opType !== 'MatMul';
}

function tensorOf(graph: Graph, name: string): Tensor {
  const tensor = graph.initializers.get(name);
  if (tensor === undefined) throw new TypeError(`"${name}" is expected to be an initializer.`);
  return tensor;
}
