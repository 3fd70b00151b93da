/**
 * The table of lifting rules: every operator of ONNX's own set that changed its meaning between opset 7 and the
 * newest one, and the list of those that did not. What is in neither is refused, never guessed.
 */
import { attention } from './attention.ts';
import {
  axesToInput,
  clipToInputs,
  padToInputs,
  sliceToInputs,
  splitToInput,
  topKToInput,
} from './attributesToInputs.ts';
import {
  batchNormalizationInference,
  dropoutToIdentity,
  roiAlignOutputHalfPixel,
  scanRefused,
  scatterToElements,
} from './inference.ts';
import type { LiftStep } from './liftRule.ts';
import {
  axesToAttribute,
  castWithoutSaturation,
  gridSampleModes,
  padWithoutAxes,
  scatterReduction,
  splitByOutputs,
} from './newerForms.ts';
import {
  gelu,
  groupNormalization,
  mish,
  rmsNormalization,
  simplifiedLayerNormalization,
  swish,
} from './newerOperators.ts';
import { averagePoolDilated, lpPoolPlain, maxPoolPadded } from './pools.ts';
import { dequantizePlain, quantizePlain } from './quantize.ts';
import { resizeOptionalInputs, resizeToAsymmetric, resizeWithoutAxes, upsampleToResize } from './resize.ts';
import { rotaryEmbedding } from './rotaryEmbedding.ts';
import { rowsToAxis } from './softmax.ts';

/** Steps in the order in which they apply. */
export const liftRules: ReadonlyMap<string, readonly LiftStep[]> = new Map(
  Object.entries<readonly LiftStep[]>({
    Attention: [attention],
    AveragePool: [averagePoolDilated],
    BatchNormalization: [batchNormalizationInference],
    Cast: [castWithoutSaturation],
    CastLike: [castWithoutSaturation],
    Clip: [clipToInputs],
    DequantizeLinear: [dequantizePlain],
    Dropout: [dropoutToIdentity],
    Gelu: [gelu],
    GridSample: [gridSampleModes],
    GroupNormalization: [groupNormalization],
    Hardmax: [rowsToAxis],
    LogSoftmax: [rowsToAxis],
    LpPool: [lpPoolPlain],
    MaxPool: [maxPoolPadded],
    Mish: [mish],
    Pad: [padToInputs, padWithoutAxes],
    QuantizeLinear: [quantizePlain],
    RMSNormalization: [rmsNormalization],
    ReduceL1: [axesToAttribute],
    ReduceL2: [axesToAttribute],
    ReduceLogSum: [axesToAttribute],
    ReduceLogSumExp: [axesToAttribute],
    ReduceMax: [axesToAttribute],
    ReduceMean: [axesToAttribute],
    ReduceMin: [axesToAttribute],
    ReduceProd: [axesToAttribute],
    ReduceSum: [axesToInput],
    ReduceSumSquare: [axesToAttribute],
    Resize: [resizeToAsymmetric, resizeOptionalInputs, resizeWithoutAxes],
    RoiAlign: [roiAlignOutputHalfPixel],
    RotaryEmbedding: [rotaryEmbedding],
    Scan: [scanRefused],
    Scatter: [scatterToElements],
    ScatterElements: [scatterReduction],
    ScatterND: [scatterReduction],
    SimplifiedLayerNormalization: [simplifiedLayerNormalization],
    Slice: [sliceToInputs],
    Softmax: [rowsToAxis],
    Split: [splitToInput, splitByOutputs],
    Squeeze: [axesToInput],
    Swish: [swish],
    TopK: [topKToInput],
    Unsqueeze: [axesToInput],
    Upsample: [upsampleToResize],
  }),
);

/**
 * Operators whose later versions only took more data types, negative axes, broadcasting, or optional attributes
 * and inputs whose default is the old behaviour.
 */
export const unchangedOperators: ReadonlySet<string> = new Set(
  `Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh Bernoulli BitShift BlackmanWindow Ceil Celu Compress
  Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumSum DepthToSpace Det Div
  DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gemm
  GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual HammingWindow HannWindow HardSigmoid HardSwish
  Identity If InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log Loop
  LpNormalization MatMul MatMulInteger Max MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix
  Min Mod Mul Multinomial Neg NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Or
  PRelu Pow QLinearConv QLinearMatMul RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal
  Relu Reshape ReverseSequence Round STFT Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert
  SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size Softplus Softsign SpaceToDepth SplitToSequence Sqrt
  StringNormalizer Sub Sum Tan Tanh TfIdfVectorizer ThresholdedRelu Tile Transpose Trilu Unique Where Xor`.split(
    /\s+/,
  ),
);

/** Whether it is one of ONNX's own operators. */
export function isKnownOperator(opType: string): boolean {
  return liftRules.has(opType) || unchangedOperators.has(opType);
}

/** Whether an operator means in files of one opset what it means in those of another. */
export function meansTheSame(opType: string, opset: number, other: number): boolean {
  const steps = liftRules.get(opType);
  if (steps === undefined) return unchangedOperators.has(opType);
  return steps.every(
    ({ below = 0, from = Number.POSITIVE_INFINITY }) =>
      opset < below === other < below && opset >= from === other >= from,
  );
}
