/**
 * Opset 6 as opset 7, the oldest that onnxruntime runs and so measures: broadcasting by attributes becomes NumPy's,
 * and flags of training go. Everything later is liftOpset's.
 */
import { broadcastAttributes } from '../../graph/attributes/elementwise.ts';
import { type Attribute, type Graph, type Node, withAttributes } from '../../graph/graph.ts';
import { positiveAxis } from '../../graph/ops/rule.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Pass } from './pass.ts';

const broadcasting = new Set('Add And Div Equal Greater Less Mul Or Pow Sub Xor'.split(' '));

/** Attributes that opset 7 dropped, and that mean nothing for inference. */
const dropped: Readonly<Record<string, readonly string[]>> = {
  BatchNormalization: ['is_test'],
  Dropout: ['is_test'],
  Gemm: ['broadcast'],
};

/** Operators whose form of opset 7 asks for other inputs, or that computed something else before. */
const refused = new Set(['GRU', 'LSTM', 'RNN', 'Upsample']);

/** Operators whose output has as many axes as their first input. */
const keepsRank = new Set(
  `AveragePool BatchNormalization Concat Conv ConvTranspose Dropout Elu Exp GlobalAveragePool GlobalMaxPool
  InstanceNormalization LRN LeakyRelu LogSoftmax MaxPool Neg PRelu Pad Relu Selu Sigmoid Slice Softmax Softplus Sqrt Sum
  Tanh Transpose`.split(/\s+/),
);

/** Number of axes of each value, as far as the file or its operators say. */
function ranksOf(graph: Graph): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const { name, shape } of [...graph.inputs, ...graph.outputs, ...graph.values.values()]) {
    if (shape !== undefined) ranks.set(name, shape.length);
  }
  for (const [name, { dims }] of graph.initializers) ranks.set(name, dims.length);
  for (const { opType, inputs, outputs } of graph.nodes) {
    const first = ranks.get(inputs[0] ?? '');
    const flat = opType === 'Gemm' || opType === 'Flatten';
    const rank = flat ? 2 : keepsRank.has(opType) || broadcasting.has(opType) ? first : undefined;
    if (rank !== undefined) for (const output of outputs) if (!ranks.has(output)) ranks.set(output, rank);
  }
  return ranks;
}

function refuse(node: Node, reason: string): never {
  throw new StarlingError(
    'MODEL_UNSUPPORTED',
    `Node "${node.name}" (${node.opType}) of opset 6 cannot be expressed in opset 7: ${reason}; export the model again with a newer opset.`,
  );
}

/** Throws MODEL_UNSUPPORTED naming operator and node. */
export const raiseToSeven: Pass = (model) => {
  if (model.opsets.get('') !== 6) return model;
  const { graph } = model;
  const ranks = ranksOf(graph);
  const initializers = new Map<string, Tensor>(graph.initializers);

  /** The second operand with axes of length 1 behind it, so that it lines up from `axis` on. */
  const alignedOperand = (node: Node, axis: number, rank: number | undefined): readonly [string, Node[]] => {
    const [, operand = ''] = node.inputs;
    const own = ranks.get(operand);
    if (rank === undefined || own === undefined)
      refuse(node, 'the number of axes of its inputs is not known');
    const missing = rank - positiveAxis(axis, rank) - own;
    if (missing <= 0) return [operand, []];
    const name = `${node.outputs[0]}/aligned`;
    const tensor = initializers.get(operand);
    if (tensor !== undefined) {
      initializers.set(name, { ...tensor, dims: [...tensor.dims, ...Array<number>(missing).fill(1)] });
      return [name, []];
    }
    const axes: Attribute = { type: 'ints', value: Array.from({ length: missing }, (_, i) => own + i) };
    const unsqueeze: Node = {
      name: `${node.name}/Unsqueeze`,
      opType: 'Unsqueeze',
      domain: '',
      inputs: [operand],
      outputs: [name],
      attributes: new Map([['axes', axes]]),
    };
    return [name, [unsqueeze]];
  };

  const raise = (node: Node): Node[] => {
    if (node.domain !== '') return [node];
    if (refused.has(node.opType)) refuse(node, 'its inputs changed');
    const names = dropped[node.opType] ?? [];
    const plain = {
      ...node,
      attributes: withAttributes(node, Object.fromEntries(names.map((name) => [name, null]))),
    };
    const rank = ranks.get(node.inputs[0] ?? '');
    // A slope per channel stood for [C, 1, 1].
    const slope = node.opType === 'PRelu' && ranks.get(node.inputs[1] ?? '') === 1;
    if (!broadcasting.has(node.opType) && !slope) return [plain];
    const attributes = withAttributes(node, { axis: null, broadcast: null });
    const axis = slope ? 1 : broadcastAttributes(node).axis;
    if (axis === undefined) return [{ ...node, attributes }];
    const [operand, before] = alignedOperand(node, axis, rank);
    return [...before, { ...node, attributes, inputs: [node.inputs[0] ?? '', operand] }];
  };

  const nodes = graph.nodes.flatMap(raise);
  return { ...model, opsets: new Map(model.opsets).set('', 7), graph: { ...graph, nodes, initializers } };
};
