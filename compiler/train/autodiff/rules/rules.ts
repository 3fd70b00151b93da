/** The table of gradient rules: what Starling can train through. A listed operator without a rule does not compile. */
import type { GradientRule } from '../gradientRule.ts';
import { conv, convTranspose } from './convolution.ts';
import * as elementwise from './elementwise.ts';
import { gemm, matMul } from './matrix.ts';
import { batchNormalization, layerNormalization } from './normalisation.ts';
import { averagePool, globalAveragePool, maxPool } from './pool.ts';
import { straightThrough } from './quantise.ts';
import { reduceMean, reduceSum } from './reduce.ts';
import { resize } from './resize.ts';
import { logSoftmax, softmax } from './softmax.ts';
import { concat, depthToSpace, expand, gather, pad, reshape, slice, transpose } from './structural.ts';

// biome-ignore format: a table reads better in few lines
export const differentiableOperators = [
  'Abs', 'Add', 'AveragePool', 'BatchNormalization', 'Clip', 'Concat', 'Conv', 'ConvTranspose', 'DepthToSpace',
  'Div', 'Erf', 'Exp', 'Expand', 'Flatten', 'Gather', 'Gemm', 'GlobalAveragePool', 'HardSigmoid', 'HardSwish',
  'Identity', 'LayerNormalization', 'LeakyRelu', 'Log', 'LogSoftmax', 'MatMul', 'Max', 'MaxPool', 'Min', 'Mul',
  'Neg', 'PRelu', 'Pad', 'Pow', 'Reciprocal', 'ReduceMean', 'ReduceSum', 'Relu', 'Reshape', 'Resize', 'Sigmoid',
  'Slice', 'Softmax', 'Sqrt', 'Squeeze', 'Sub', 'Sum', 'Tanh', 'Transpose', 'Unsqueeze',
] as const;

export type DifferentiableOperator = (typeof differentiableOperators)[number];

/** Those whose gradient is not a derivative. */
const straightThroughOperators = ['DequantizeLinear', 'QuantizeLinear'] as const;

type TrainableOperator = DifferentiableOperator | (typeof straightThroughOperators)[number];

const rules: { readonly [Op in TrainableOperator]: GradientRule } = {
  DequantizeLinear: straightThrough,
  QuantizeLinear: straightThrough,
  Abs: elementwise.abs,
  Add: elementwise.add,
  AveragePool: averagePool,
  BatchNormalization: batchNormalization,
  Clip: elementwise.clip,
  Concat: concat,
  Conv: conv,
  ConvTranspose: convTranspose,
  DepthToSpace: depthToSpace,
  Div: elementwise.div,
  Erf: elementwise.erf,
  Exp: elementwise.exp,
  Expand: expand,
  Flatten: reshape,
  Gather: gather,
  Gemm: gemm,
  GlobalAveragePool: globalAveragePool,
  HardSigmoid: elementwise.hardSigmoid,
  HardSwish: elementwise.hardSwish,
  Identity: elementwise.identity,
  LayerNormalization: layerNormalization,
  LeakyRelu: elementwise.leakyRelu,
  Log: elementwise.log,
  LogSoftmax: logSoftmax,
  MatMul: matMul,
  Max: elementwise.extreme,
  MaxPool: maxPool,
  Min: elementwise.extreme,
  Mul: elementwise.mul,
  Neg: elementwise.neg,
  PRelu: elementwise.pRelu,
  Pad: pad,
  Pow: elementwise.pow,
  Reciprocal: elementwise.reciprocal,
  ReduceMean: reduceMean,
  ReduceSum: reduceSum,
  Relu: elementwise.relu,
  Reshape: reshape,
  Resize: resize,
  Sigmoid: elementwise.sigmoid,
  Slice: slice,
  Softmax: softmax,
  Sqrt: elementwise.sqrt,
  Squeeze: reshape,
  Sub: elementwise.sub,
  Sum: elementwise.add,
  Tanh: elementwise.tanh,
  Transpose: transpose,
  Unsqueeze: reshape,
};

export function isDifferentiable(opType: string): opType is TrainableOperator {
  return Object.hasOwn(rules, opType);
}

export function gradientRule(opType: TrainableOperator): GradientRule {
  return rules[opType];
}
