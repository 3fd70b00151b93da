/** The table of operator rules. An operator that is not listed is computed whole wherever it is needed. */
import type { Node } from '../graph.ts';
import { depthToSpace, spaceToDepth } from './blocks.ts';
import { concat } from './concat.ts';
import { conv, convInteger, qLinearConv } from './conv.ts';
import { convTranspose } from './convTranspose.ts';
import { einsum } from './einsum.ts';
import { elementwise } from './elementwise.ts';
import { gather, gatherElements, gatherNd, gridSample } from './gather.ts';
import { gemm } from './gemm.ts';
import { matMul, matMulInteger, qLinearMatMul } from './matmul.ts';
import {
  batchNormalization,
  instanceNormalization,
  layerNormalization,
  lpNormalization,
  lrn,
  meanVarianceNormalization,
} from './normalization.ts';
import { pad } from './pad.ts';
import { globalPool, pool } from './pool.ts';
import { quantizeLinear } from './quantize.ts';
import { argReduce, cumSum, hardmax, reduce, softmax, trilu } from './reduce.ts';
import { expand, tile } from './repeat.ts';
import { reshape } from './reshape.ts';
import { resize } from './resize.ts';
import type { OpRule } from './rule.ts';
import { slice } from './slice.ts';
import { transpose } from './transpose.ts';

const elementwiseOperators = [
  'Abs', 'Acos', 'Acosh', 'Add', 'And', 'Asin', 'Asinh', 'Atan', 'Atanh', 'BitShift', 'Cast', 'Ceil', 'Celu',
  'Clip', 'Cos', 'Cosh', 'Div', 'Elu', 'Equal', 'Erf', 'Exp', 'Floor', 'Greater', 'GreaterOrEqual',
  'HardSigmoid', 'HardSwish', 'Identity', 'IsInf', 'IsNaN', 'LeakyRelu', 'Less', 'LessOrEqual', 'Log', 'Max',
  'Mean', 'Min', 'Mod', 'Mul', 'Neg', 'Not', 'Or', 'PRelu', 'Pow', 'Reciprocal', 'Relu', 'Round', 'Selu',
  'Shrink', 'Sigmoid', 'Sign', 'Sin', 'Sinh', 'Softplus', 'Softsign', 'Sqrt', 'Sub', 'Sum', 'Tan', 'Tanh',
  'ThresholdedRelu', 'Where', 'Xor',
] as const; // biome-ignore format: a table reads better in few lines

const poolOperators = ['MaxPool', 'AveragePool', 'LpPool'];

const globalPoolOperators = ['GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool'];

const reduceOperators = [
  'ReduceMean',
  'ReduceSum',
  'ReduceMax',
  'ReduceMin',
  'ReduceProd',
  'ReduceL1',
  'ReduceL2',
  'ReduceLogSum',
  'ReduceLogSumExp',
  'ReduceSumSquare',
];

/** Operator -> rule. */
export const operatorRules: ReadonlyMap<string, OpRule> = new Map<string, OpRule>([
  ...elementwiseOperators.map((name) => [name, elementwise] as const),
  ...poolOperators.map((name) => [name, pool] as const),
  ...globalPoolOperators.map((name) => [name, globalPool] as const),
  ...reduceOperators.map((name) => [name, reduce] as const),
  ['ArgMax', argReduce],
  ['ArgMin', argReduce],
  ['BatchNormalization', batchNormalization],
  ['Concat', concat],
  ['Conv', conv],
  ['ConvInteger', convInteger],
  ['ConvTranspose', convTranspose],
  ['CumSum', cumSum],
  ['DepthToSpace', depthToSpace],
  ['DequantizeLinear', quantizeLinear],
  ['Einsum', einsum],
  ['Expand', expand],
  ['Flatten', reshape],
  ['Gather', gather],
  ['GatherElements', gatherElements],
  ['GatherND', gatherNd],
  ['Gemm', gemm],
  ['GridSample', gridSample],
  ['Hardmax', hardmax],
  ['InstanceNormalization', instanceNormalization],
  ['LRN', lrn],
  ['LayerNormalization', layerNormalization],
  ['LogSoftmax', softmax],
  ['LpNormalization', lpNormalization],
  ['MatMul', matMul],
  ['MatMulInteger', matMulInteger],
  ['MeanVarianceNormalization', meanVarianceNormalization],
  ['Pad', pad],
  ['QLinearConv', qLinearConv],
  ['QLinearMatMul', qLinearMatMul],
  ['QuantizeLinear', quantizeLinear],
  ['Reshape', reshape],
  ['Resize', resize],
  ['Slice', slice],
  ['Softmax', softmax],
  ['SpaceToDepth', spaceToDepth],
  ['Squeeze', reshape],
  ['Tile', tile],
  ['Transpose', transpose],
  ['Trilu', trilu],
  ['Unsqueeze', reshape],
]);

export function ruleOf(node: Node): OpRule | undefined {
  return node.domain === '' && node.outputs.length === 1 ? operatorRules.get(node.opType) : undefined;
}

export function ruledOperators(): readonly string[] {
  return [...operatorRules.keys()].sort();
}
