/** The table of operator rules. An operator that is not listed is computed whole wherever it is needed. */
import type { Node } from '../graph.ts';
import { conv } from './conv.ts';
import { elementwise } from './elementwise.ts';
import { gemm, matMul } from './matmul.ts';
import { reshape } from './reshape.ts';
import type { OpRule } from './rule.ts';
import { argReduce, batchNormalization, globalPool, pool, reduce, resize, softmax } from './spatial.ts';
import { concat, depthToSpace, pad, slice, transpose } from './structural.ts';

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

const rules: ReadonlyMap<string, OpRule> = new Map<string, OpRule>([
  ...elementwiseOperators.map((name) => [name, elementwise] as const),
  ...poolOperators.map((name) => [name, pool] as const),
  ...globalPoolOperators.map((name) => [name, globalPool] as const),
  ...reduceOperators.map((name) => [name, reduce] as const),
  ['ArgMax', argReduce],
  ['ArgMin', argReduce],
  ['BatchNormalization', batchNormalization],
  ['Concat', concat],
  ['Conv', conv],
  ['DepthToSpace', depthToSpace],
  ['Flatten', reshape],
  ['Gemm', gemm],
  ['LogSoftmax', softmax],
  ['MatMul', matMul],
  ['Pad', pad],
  ['Reshape', reshape],
  ['Resize', resize],
  ['Slice', slice],
  ['Softmax', softmax],
  ['Squeeze', reshape],
  ['Transpose', transpose],
  ['Unsqueeze', reshape],
]);

export function ruleOf(node: Node): OpRule | undefined {
  return node.domain === '' && node.outputs.length === 1 ? rules.get(node.opType) : undefined;
}

export function ruledOperators(): readonly string[] {
  return [...rules.keys()].sort();
}
