/**
 * Shows from the graph alone that its first axis is a batch, because every operator treats each index of it apart, or
 * that it cannot be one, because some operator fits one sample only. What it cannot show has to be tried (batchOpen.ts).
 */
import { quantizeLinearAttributes } from '../../graph/attributes/elementwise.ts';
import {
  concatAttributes,
  flattenAttributes,
  gatherAttributes,
  reshapeAttributes,
  transposeAttributes,
} from '../../graph/attributes/moves.ts';
import {
  layerNormalizationAttributes,
  lpNormalizationAttributes,
} from '../../graph/attributes/normalisations.ts';
import { gemmAttributes } from '../../graph/attributes/products.ts';
import {
  argReduceAttributes,
  reduceAttributes,
  softmaxAttributes,
} from '../../graph/attributes/reductions.ts';
import type { Graph, Node } from '../../graph/graph.ts';
import { shapedValues, viewNode } from '../../graph/nodeView.ts';
import { elementwise } from '../../graph/ops/elementwise.ts';
import { type NodeView, positiveAxis } from '../../graph/ops/rule.ts';
import { operatorRules } from '../../graph/ops/rules.ts';
import { elementCount, float32View, readIntegers } from '../../graph/tensor.ts';

interface BatchedNode {
  readonly view: NodeView;
  readonly rank: number;
  /** Whether an input has the batch as its first axis; the others are the same for every sample. */
  carries(input: number): boolean;
}

/** Whether the output's first axis is the batch, given that some input's is. */
type Check = (node: BatchedNode) => boolean;

const onlyFirst: Check = ({ view, carries }) => view.node.inputs.every((_, i) => carries(i) === (i === 0));

/** The attribute `axis` names another axis than the first. */
const otherAxis =
  (attributes: (node: Node) => { readonly axis: number }): Check =>
  ({ view, rank }) =>
    positiveAxis(attributes(view.node).axis, rank) > 0;

function integers(view: NodeView, input: number): readonly number[] | undefined {
  const tensor = (view.node.inputs[input] ?? '') === '' ? undefined : view.constant(input);
  return tensor === undefined ? undefined : readIntegers(tensor);
}

/** Axes listed by an attribute or by a constant input are others than the first; all of them where none are listed. */
function otherAxes(view: NodeView, input: number): boolean {
  const rank = view.inputShape(0).length;
  const axes = reduceAttributes(view.node).axes ?? integers(view, input);
  return axes !== undefined && axes.length > 0 && axes.every((axis) => positiveAxis(axis, rank) > 0);
}

/** What is the same for every sample is broadcast along the batch, or has no such axis. */
const broadcasts: Check = ({ view, carries }) =>
  view.node.inputs.every((name, i) => {
    const shape = view.inputShape(i);
    const aligned = shape.length === view.outputShape.length;
    return name === '' || (carries(i) ? aligned : !aligned || shape[0] === 1);
  });

const reduces: Check = (node) => onlyFirst(node) && otherAxes(node.view, 1);
const along =
  (attributes: Parameters<typeof otherAxis>[0]): Check =>
  (node) =>
    onlyFirst(node) && otherAxis(attributes)(node);

const matMul: Check = ({ view, carries }) => {
  const [a, b] = [view.inputShape(0).length, view.inputShape(1).length];
  if (carries(0) && carries(1)) return a === b && a > 2;
  return carries(0) && a >= 2 && (b <= 2 || (b <= a && (b < a || view.inputShape(1)[0] === 1)));
};

const checks: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    ['Conv', 'ConvTranspose', 'MaxPool', 'AveragePool', 'LpPool', 'GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool',
      'BatchNormalization', 'InstanceNormalization', 'LRN', 'DepthToSpace', 'SpaceToDepth', 
      'QLinearConv', 'ConvInteger'].map((name) => [name, onlyFirst]),
  ),
  ...Object.fromEntries(
    ['ReduceMean', 'ReduceSum', 'ReduceMax', 'ReduceMin', 'ReduceProd', 'ReduceL1', 'ReduceL2', 'ReduceLogSum',
      'ReduceLogSumExp', 'ReduceSumSquare', 'Squeeze', 'Unsqueeze'].map((name) => [name, reduces]),
  ),
  ...Object.fromEntries(['Softmax', 'LogSoftmax', 'Hardmax'].map((name) => [name, along(softmaxAttributes)])),
  LayerNormalization: along(layerNormalizationAttributes),
  LpNormalization: along(lpNormalizationAttributes),
  DequantizeLinear: along(quantizeLinearAttributes),
  QuantizeLinear: along(quantizeLinearAttributes),
  ArgMax: along(argReduceAttributes),
  ArgMin: along(argReduceAttributes),
  Flatten: (node) => onlyFirst(node) && flattenAttributes(node.view.node).axis === 1,
  Concat: (node) => otherAxis(concatAttributes)(node) && node.view.node.inputs.every((_, i) => node.carries(i)),
  Gemm: ({ view, carries }) =>
    carries(0) && !carries(1) && !carries(2) && !gemmAttributes(view.node).transA &&
    (view.inputShape(2).length < 2 || view.inputShape(2)[0] === 1),
  MatMul: matMul,
  Transpose: ({ view, rank }) => transposeAttributes(view.node, rank).perm[0] === 0,
  // 0 copies the length of the input's same axis.
  Reshape: (node) => onlyFirst(node) && integers(node.view, 1)?.[0] === 0 && !reshapeAttributes(node.view.node).allowzero,
  Slice: (node) => onlyFirst(node) && (integers(node.view, 3) ?? [0]).every((axis) => positiveAxis(axis, node.rank) > 0),
  Pad: ({ view, rank, carries }) => {
    const pads = integers(view, 1);
    return carries(0) && pads?.[0] === 0 && pads[rank] === 0 && (view.node.inputs[3] ?? '') === '';
  },
  Resize: ({ view, carries }) => {
    const scales = (view.node.inputs[2] ?? '') === '' ? undefined : view.constant(2);
    return carries(0) && scales !== undefined && elementCount(scales.dims) > 0 && float32View(scales)[0] === 1;
  },
  Gather: along(gatherAttributes),
  Tile: (node) => onlyFirst(node) && integers(node.view, 1)?.[0] === 1,
}; // biome-ignore format: a table

/**
 * The lengths with which two samples would not fit, by operator, given that the first input's or some input's first axis
 * is the batch.
 */
const refusals: Readonly<Record<string, Check>> = {
  // No -1 and no 0: as many elements as one sample has, and no more.
  Reshape: (node) => node.carries(0) && (integers(node.view, 1)?.every((length) => length > 0) ?? false),
  Concat: (node) =>
    otherAxis(concatAttributes)(node) &&
    node.view.node.inputs.some((_, i) => node.view.isConstant(i) && !node.carries(i)),
};

/**
 * `open` and `closed` only where it is certain; `unknown` has to be tried. Needs concrete shapes, with the same first
 * length at all inputs and outputs.
 */
export function batchAxis(graph: Graph): 'open' | 'closed' | 'unknown' {
  const values = shapedValues(graph);
  const carrying = new Set(graph.inputs.map(({ name }) => name));
  for (const node of graph.nodes) {
    if (![...node.inputs].some((name) => carrying.has(name))) {
      // A node that reads nothing of the inputs gives every sample the same, unless it draws lots or captures values.
      if (operatorRules.has(node.opType)) continue;
      return 'unknown';
    }
    const rule = node.domain === '' ? operatorRules.get(node.opType) : undefined;
    const check = rule === elementwise ? broadcasts : checks[node.opType];
    if (check === undefined || node.domain !== '') return 'unknown';
    const view = viewNode(graph, values, node);
    const carries = (input: number) => carrying.has(node.inputs[input] ?? '');
    const batched = { view, rank: view.inputShape(0).length, carries };
    if (!check(batched)) return refusals[node.opType]?.(batched) === true ? 'closed' : 'unknown';
    for (const output of node.outputs) carrying.add(output);
  }
  return graph.outputs.every(({ name }) => carrying.has(name)) ? 'open' : 'unknown';
}
