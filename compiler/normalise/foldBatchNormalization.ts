/**
 * Folds batch normalisation into the convolution before it where nothing else reads that convolution, and
 * writes it as one multiplication and one addition per channel elsewhere.
 */
import { batchNormalizationAttributes } from '../../graph/attributes/normalisations.ts';
import type { Graph, Node } from '../../graph/graph.ts';
import { valuesRead } from '../../graph/sort.ts';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import type { Pass } from './pass.ts';

export const foldBatchNormalization: Pass = (model) => ({ ...model, graph: folded(model.graph) });

/** y = x * scale + shift, per channel. */
interface ChannelMap {
  readonly scale: Float64Array;
  readonly shift: Float64Array;
}

function folded(graph: Graph): Graph {
  const initializers = new Map(graph.initializers);
  const names = new Set([...initializers.keys(), ...graph.nodes.flatMap((node) => node.outputs)]);
  const reads = new Map<string, number>();
  for (const node of graph.nodes)
    for (const name of valuesRead(node)) reads.set(name, (reads.get(name) ?? 0) + 1);
  for (const { name } of graph.outputs) reads.set(name, (reads.get(name) ?? 0) + 1);
  const add = (hint: string, tensor: Tensor): string => {
    let name = hint;
    for (let i = 1; names.has(name); i++) name = `${hint}_${i}`;
    names.add(name);
    initializers.set(name, tensor);
    return name;
  };
  const nodes: Node[] = [];
  /** Where in `nodes` the convolution is that gives a value. */
  const convolutions = new Map<string, number>();
  for (const node of graph.nodes) {
    const map = channelMap(node, initializers);
    const [input = ''] = node.inputs;
    const rank =
      graph.values.get(input)?.shape?.length ??
      graph.inputs.find(({ name }) => name === input)?.shape?.length;
    const at = convolutions.get(input);
    const convolution = at === undefined ? undefined : nodes[at];
    if (map === undefined || rank === undefined) {
      nodes.push(node);
    } else if (at !== undefined && convolution !== undefined && reads.get(input) === 1) {
      nodes[at] = foldInto(convolution, map, node, initializers, add);
      convolutions.set(node.outputs[0] ?? '', at);
      continue;
    } else {
      nodes.push(...multiplyAndAdd(node, map, rank, add));
    }
    if (isFoldable(node, initializers)) convolutions.set(node.outputs[0] ?? '', nodes.length - 1);
  }
  return { ...graph, nodes, initializers };
}

function channelMap(node: Node, initializers: ReadonlyMap<string, Tensor>): ChannelMap | undefined {
  if (node.opType !== 'BatchNormalization' || node.domain !== '' || node.outputs.length !== 1)
    return undefined;
  const { epsilon, trainingMode } = batchNormalizationAttributes(node);
  if (trainingMode) return undefined;
  const tensors = node.inputs.slice(1).map((name) => initializers.get(name));
  if (tensors.some((tensor) => tensor?.dataType !== 'float32')) return undefined;
  const [gamma, beta, mean, variance] = tensors.flatMap((tensor) =>
    tensor === undefined ? [] : [float32View(tensor)],
  );
  if (gamma === undefined || beta === undefined || mean === undefined || variance === undefined)
    return undefined;
  // In double precision, so that folding rounds once.
  const scale = Float64Array.from(gamma, (value, i) => value / Math.sqrt((variance[i] ?? 0) + epsilon));
  const shift = Float64Array.from(beta, (value, i) => value - (mean[i] ?? 0) * (scale[i] ?? 0));
  return { scale, shift };
}

function isFoldable(node: Node, initializers: ReadonlyMap<string, Tensor>): boolean {
  if (node.opType !== 'Conv' || node.domain !== '') return false;
  return node.inputs.slice(1).every((name) => name === '' || initializers.get(name)?.dataType === 'float32');
}

function foldInto(
  convolution: Node,
  { scale, shift }: ChannelMap,
  normalisation: Node,
  initializers: ReadonlyMap<string, Tensor>,
  add: (hint: string, tensor: Tensor) => string,
): Node {
  const [input = '', weightName = '', biasName = ''] = convolution.inputs;
  const weight = initializers.get(weightName);
  if (weight === undefined) return convolution;
  const biasTensor = initializers.get(biasName);
  const bias = biasTensor === undefined ? undefined : float32View(biasTensor);
  const values = float32View(weight);
  const perChannel = values.length / scale.length;
  const scaled = values.map((value, i) => value * (scale[Math.floor(i / perChannel)] ?? 0));
  const shifted = Float32Array.from(shift, (value, i) => value + (bias?.[i] ?? 0) * (scale[i] ?? 0));
  return {
    ...convolution,
    inputs: [
      input,
      add(`${weightName}/folded`, float32Tensor(weight.dims, scaled)),
      add(`${convolution.name}/bias`, float32Tensor([shift.length], shifted)),
    ],
    outputs: normalisation.outputs,
  };
}

function multiplyAndAdd(
  node: Node,
  { scale, shift }: ChannelMap,
  rank: number,
  add: (hint: string, tensor: Tensor) => string,
): readonly Node[] {
  const dims = Array.from({ length: rank }, (_, axis) => (axis === 1 ? scale.length : 1));
  const [input = ''] = node.inputs;
  const scaleName = add(`${node.name}/scale`, float32Tensor(dims, Float32Array.from(scale)));
  const shiftName = add(`${node.name}/shift`, float32Tensor(dims, Float32Array.from(shift)));
  const scaled = `${node.outputs[0] ?? ''}/scaled`;
  const plain = { domain: '', attributes: new Map() };
  return [
    { ...plain, name: `${node.name}/Mul`, opType: 'Mul', inputs: [input, scaleName], outputs: [scaled] },
    { ...plain, name: node.name, opType: 'Add', inputs: [scaled, shiftName], outputs: node.outputs },
  ];
}
