/**
 * Writes layer normalisation that an exporter took apart (ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, and Mul and Add
 * of parameters) as the one operator it is: its moments then are exchanged in one round, and one kernel computes it.
 * Pattern, check, rewrite; a graph that computes something else, or uses a value in between, stays as it is.
 */
import { reduceAttributes } from '../../graph/attributes/reductions.ts';
import type { Graph, Node } from '../../graph/graph.ts';
import { GraphLinks } from '../../graph/graphLinks.ts';
import { positiveAxis } from '../../graph/ops/rule.ts';
import { elementCount, float32Tensor } from '../../graph/tensor.ts';
import type { Pass } from './pass.ts';

export const fuseLayerNormalization: Pass = (model) => ({ ...model, graph: fused(model.graph) });

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
  const { axes: listed = [], keepdims } = reduceAttributes(node);
  const axes = listed.map((axis) => positiveAxis(axis, rank)).sort((a, b) => a - b);
  const first = axes[0] ?? rank;
  const suffix = axes.length === rank - first && axes.every((axis, i) => axis === first + i);
  return suffix && first > 0 && keepdims ? first : undefined;
}

/** The other input of a node that adds or multiplies with something constant. */
function constantOperand(node: Node, value: string, links: GraphLinks): string | undefined {
  const other = node.inputs[0] === value ? node.inputs[1] : node.inputs[0];
  return links.constant(other) === undefined ? undefined : other;
}

/** `divide` is deviation / standard deviation. */
function match(divide: Node, links: GraphLinks): Match | undefined {
  const [deviation = '', deviations = ''] = divide.inputs;
  const root = links.made(deviations, 'Sqrt');
  const sum = links.made(root?.inputs[0], 'Add');
  const [first, second] = sum?.inputs ?? [];
  const variance = links.made(first, 'ReduceMean') ?? links.made(second, 'ReduceMean');
  const epsilon = links.scalar(first) ?? links.scalar(second);
  const [squares] = variance?.inputs ?? [];
  const power = links.made(squares, 'Pow') ?? links.made(squares, 'Mul');
  const centred = links.made(deviation, 'Sub');
  const alike = links.made(links.squareRoot(squares), 'Sub');
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
  const links = new GraphLinks(graph);
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
