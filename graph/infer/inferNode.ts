/** The table of inference rules. A node without one, or about which its rule is not certain, is run to see what it makes. */
import type { ShapedValue } from '../nodeView.ts';
import {
  arithmetic,
  batchNormalization,
  cast,
  comparison,
  dropout,
  floatBroadcast,
  floatTest,
  identity,
  likeFirst,
  logical,
  pRelu,
  where,
} from './elementwise.ts';
import type { InferenceView, InferRule } from './inferRule.ts';
import {
  concat,
  depthToSpace,
  expand,
  flatten,
  gather,
  gatherElements,
  pad,
  reshape,
  slice,
  spaceToDepth,
  split,
  squeeze,
  tile,
  transpose,
  unsqueeze,
} from './moves.ts';
import {
  dequantizeLinear,
  einsum,
  gemm,
  matMul,
  matMulInteger,
  qLinearMatMul,
  quantizeLinear,
} from './products.ts';
import { argReduce, constantOfShape, cumSum, range, reduce, shapeOf, sizeOf, topK } from './reductions.ts';
import { gridSample, resize, upsample } from './resize.ts';
import { conv, convInteger, convTranspose, globalPool, pool, qLinearConv } from './windows.ts';

const alike: readonly (readonly [InferRule, string])[] = [
  [likeFirst, `Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Clip Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish
    Hardmax InstanceNormalization LRN LayerNormalization LeakyRelu Log LogSoftmax LpNormalization
    MeanVarianceNormalization Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign
    Sqrt Tan Tanh ThresholdedRelu`],
  [arithmetic, 'Add Div Mul Sub'],
  [floatBroadcast, 'Max Mean Min Pow Sum'],
  [comparison, 'Equal Greater GreaterOrEqual Less LessOrEqual'],
  [logical, 'And Not Or Xor'],
  [floatTest, 'IsInf IsNaN'],
  [pool, 'AveragePool LpPool MaxPool'],
  [globalPool, 'GlobalAveragePool GlobalLpPool GlobalMaxPool'],
  [reduce, `ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
    ReduceSumSquare`],
  [argReduce, 'ArgMax ArgMin'],
]; // biome-ignore format: a table

const inferRules: ReadonlyMap<string, InferRule> = new Map([
  ...alike.flatMap(([rule, names]) => names.split(/\s+/).map((name) => [name, rule] as const)),
  ...Object.entries<InferRule>({
    BatchNormalization: batchNormalization,
    Cast: cast,
    Concat: concat,
    ConstantOfShape: constantOfShape,
    Conv: conv,
    ConvInteger: convInteger,
    ConvTranspose: convTranspose,
    CumSum: cumSum,
    DepthToSpace: depthToSpace,
    DequantizeLinear: dequantizeLinear,
    Dropout: dropout,
    Einsum: einsum,
    Expand: expand,
    Flatten: flatten,
    Gather: gather,
    GatherElements: gatherElements,
    Gemm: gemm,
    GridSample: gridSample,
    Identity: identity,
    MatMul: matMul,
    MatMulInteger: matMulInteger,
    PRelu: pRelu,
    Pad: pad,
    QLinearConv: qLinearConv,
    QLinearMatMul: qLinearMatMul,
    QuantizeLinear: quantizeLinear,
    Range: range,
    Reshape: reshape,
    Resize: resize,
    Shape: shapeOf,
    Size: sizeOf,
    Slice: slice,
    SpaceToDepth: spaceToDepth,
    Split: split,
    Squeeze: squeeze,
    Tile: tile,
    TopK: topK,
    Transpose: transpose,
    Unsqueeze: unsqueeze,
    Upsample: upsample,
    Where: where,
  }),
]);

/** Types and shapes of the node's outputs, in their order; undefined where the node has to be run. */
export function inferNode(view: InferenceView): readonly ShapedValue[] | undefined {
  const { node } = view;
  const known = node.inputs.every((name, i) => name === '' || view.input(i) !== undefined);
  const outputs = node.domain === '' && known ? inferRules.get(node.opType)?.(view) : undefined;
  return outputs !== undefined && node.outputs.length <= outputs.length ? outputs : undefined;
}
