/**
 * Operators as exported files hold them, with the opsets that have each form: what types and shapes they give, and what
 * constants become, must follow from the graph alone.
 */
import { float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import {
  activation,
  type CaseInput,
  fixed,
  float,
  floats,
  indices,
  int,
  ints,
  type OperatorCase,
  text,
  weight,
} from './operatorCase.ts';

export interface InferenceCase extends OperatorCase {
  /** Opsets that have this form; all from 7 on without it. */
  readonly from?: number;
  readonly below?: number;
}

type Fields = Partial<Pick<InferenceCase, 'attributes' | 'from' | 'below'>>;

const one = (opType: string, inputs: readonly (CaseInput | null)[], fields: Fields = {}): InferenceCase => ({
  opType,
  inputs,
  attributes: {},
  ...fields,
});

const map = () => activation([1, 8, 6, 4]);
const bools = (...values: number[]): CaseInput =>
  fixed({ dataType: 'bool', dims: [values.length], data: Uint8Array.from(values) });
const int32 = (...values: number[]): Tensor => ({
  dataType: 'int32',
  dims: [values.length],
  data: new Uint8Array(Int32Array.from(values).buffer),
});
const scalar = (value: number) => fixed(float32Tensor([], [value]));
const byte = (value: number, dataType: 'uint8' | 'int8' = 'uint8') =>
  fixed({ dataType, dims: [], data: Uint8Array.of(value) });
const axesAttribute = (...axes: number[]) => ({ attributes: { axes: ints(...axes) } });
const both = (opType: string, input: CaseInput, axes: readonly number[], since = 13): InferenceCase[] => [
  one(opType, [input], { ...axesAttribute(...axes), below: since }),
  one(opType, [input, indices(axes)], { from: since }),
];

const pointwise: readonly InferenceCase[] = [
  ...['Relu', 'Sigmoid', 'Tanh', 'Exp', 'Log', 'Sqrt', 'Abs', 'Neg', 'Floor', 'Ceil', 'Elu', 'LeakyRelu', 'Selu', 'Softplus', 'Identity', 'Reciprocal'].map((name) => one(name, [map()])),
  ...['Erf', 'Sign'].map((name) => one(name, [map()], { from: 9 })),
  one('Round', [map()], { from: 11 }),
  one('HardSwish', [map()], { from: 14 }),
  one('Gelu', [map()], { from: 20 }),
  ...['Softmax', 'LogSoftmax', 'Hardmax', 'LpNormalization'].map((name) => one(name, [map()], { attributes: { axis: int(1) }, below: 22 })),
  one('Clip', [map()], { attributes: { min: float(0), max: float(6) }, below: 11 }),
  one('Clip', [map(), scalar(0), scalar(6)], { from: 11 }),
  one('Clip', [map(), null, scalar(6)], { from: 11 }),
  ...['Add', 'Sub', 'Mul', 'Div'].flatMap((name) => [
    one(name, [map(), weight([8, 1, 1])]),
    one(name, [activation([4]), map()]),
    one(name, [map(), activation([1, 1, 6, 1])]),
    one(name, [activation([2, 3], 'int64'), activation([3], 'int64')]),
  ]),
  ...['Max', 'Min', 'Sum', 'Mean'].map((name) => one(name, [map(), weight([8, 1, 1]), activation([4])], { from: 8 })),
  one('Pow', [map(), scalar(2)]),
  one('PRelu', [map(), weight([8, 1, 1])]),
  ...['Equal', 'Greater', 'Less'].map((name) => one(name, [map(), weight([8, 1, 1])], { from: 11 })),
  one('Equal', [activation([2, 3], 'int64'), indices([1])]),
  one('GreaterOrEqual', [map(), scalar(0)], { from: 12 }),
  one('Not', [activation([2, 3], 'bool')]),
  ...['And', 'Or', 'Xor'].map((name) => one(name, [activation([2, 3], 'bool'), bools(1, 0, 1)])),
  one('Where', [activation([6, 1], 'bool'), map(), scalar(0)], { from: 9 }),
  one('IsNaN', [map()], { from: 9 }),
  ...[1, 6, 7, 9].map((to) => one('Cast', [map()], { attributes: { to: int(to) }, from: 9 })),
  one('BatchNormalization', [map(), weight([8]), weight([8]), weight([8]), fixed(float32Tensor([8], new Float32Array(8).fill(1)))]),
  one('InstanceNormalization', [map(), weight([8]), weight([8])]),
  one('LayerNormalization', [map(), weight([4]), weight([4])], { from: 17 }),
  one('Dropout', [map()]),
]; // biome-ignore format: a table

const moves: readonly InferenceCase[] = [
  one('Reshape', [map(), indices([0, -1])]),
  one('Reshape', [map(), indices([2, 0, -1, 3])]),
  one('Reshape', [map(), indices([1, 2, 4, 24])]),
  ...[0, 1, 2, 4].map((axis) => one('Flatten', [map()], { attributes: { axis: int(axis) } })),
  one('Flatten', [map()], { attributes: { axis: int(-2) }, from: 11 }),
  ...both('Squeeze', activation([1, 8, 1, 4]), [0, 2]),
  one('Squeeze', [activation([1, 8, 1, 4])]),
  one('Squeeze', [activation([1, 8, 1, 4]), indices([-2])], { from: 13 }),
  ...both('Unsqueeze', activation([8, 4]), [0, 3]),
  one('Unsqueeze', [activation([8, 4]), indices([-1, 1])], { from: 13 }),
  one('Transpose', [map()]),
  one('Transpose', [map()], { attributes: { perm: ints(0, 2, 3, 1) } }),
  one('Concat', [map(), weight([1, 3, 6, 4]), activation([1, 2, 6, 4])], { attributes: { axis: int(1) } }),
  one('Concat', [map(), map()], { attributes: { axis: int(-1) }, from: 11 }),
  one('Slice', [map()], { attributes: { starts: ints(1, -3), ends: ints(100, -1), axes: ints(1, 2) }, below: 10 }),
  one('Slice', [map(), indices([2, -1]), indices([7, -1000]), indices([1, 3]), indices([2, -1])], { from: 10 }),
  one('Slice', [map(), indices([0, 1]), indices([1, 2 ** 63])], { from: 10 }),
  one('Slice', [map(), indices([-2]), indices([2 ** 63]), indices([-1])], { from: 10 }),
  one('Gather', [map(), indices([3, 0, -1])], { attributes: { axis: int(1) }, from: 11 }),
  one('Gather', [map(), indices([0, 1, 2, 3], [2, 2])], { attributes: { axis: int(2) } }),
  one('Gather', [map(), fixed(int64Tensor([5], []))], { attributes: { axis: int(2) } }),
  one('GatherElements', [map(), indices([0, 1], [1, 2, 1, 1])], { attributes: { axis: int(1) }, from: 11 }),
  one('Pad', [map()], { attributes: { pads: ints(0, 0, 1, 2, 0, 0, 3, 0) }, below: 11 }),
  one('Pad', [map(), indices([0, 0, 1, 2, 0, 0, 3, -1])], { from: 11 }),
  one('Pad', [map(), indices([0, 0, 2, 2, 0, 0, 1, 1])], { attributes: { mode: text('reflect') }, from: 11 }),
  one('Tile', [map(), indices([1, 2, 1, 3])]),
  one('Expand', [activation([8, 1]), indices([2, 1, 5])], { from: 8 }),
  one('Expand', [map(), indices([6, 1])], { from: 8 }),
  one('DepthToSpace', [map()], { attributes: { blocksize: int(2) } }),
  one('SpaceToDepth', [map()], { attributes: { blocksize: int(2) } }),
]; // biome-ignore format: a table

const sums: readonly InferenceCase[] = [
  ...['ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceL1', 'ReduceL2', 'ReduceProd', 'ReduceLogSumExp', 'ReduceSumSquare'].flatMap((name) => [
    ...both(name, map(), [2, 3], 18),
    one(name, [map()], { attributes: { axes: ints(1), keepdims: int(0) }, below: 18 }),
    one(name, [map()], { attributes: { keepdims: int(0) } }),
  ]),
  ...both('ReduceSum', map(), [1]),
  one('ReduceSum', [map()], { attributes: { noop_with_empty_axes: int(1) }, from: 13 }),
  one('ReduceMean', [map(), indices([-1])], { attributes: { keepdims: int(0) }, from: 18 }),
  one('ArgMax', [map()], { attributes: { axis: int(1) } }),
  one('ArgMin', [map()], { attributes: { axis: int(2), keepdims: int(0) } }),
  one('CumSum', [map(), fixed(int64Tensor([3], []))], { from: 11 }),
  one('MatMul', [map(), weight([4, 5])]),
  one('MatMul', [activation([6, 4]), activation([1, 8, 4, 3])]),
  one('MatMul', [activation([4]), map()].reverse()),
  one('MatMul', [activation([6]), activation([8, 6, 3])]),
  one('Gemm', [activation([2, 8]), weight([8, 5]), weight([5])]),
  one('Gemm', [activation([8, 2]), weight([5, 8]), weight([2, 1])], { attributes: { transA: int(1), transB: int(1) } }),
  one('Gemm', [activation([2, 8]), weight([8, 5])], { from: 11 }),
  one('Einsum', [activation([2, 3, 4]), weight([4, 5])], { attributes: { equation: text('bij,jk->bki') }, from: 12 }),
  one('QuantizeLinear', [map(), scalar(0.1), byte(3)], { from: 10 }),
  one('QuantizeLinear', [map(), scalar(0.1)], { from: 10 }),
  one('DequantizeLinear', [activation([1, 8, 6, 4], 'uint8'), scalar(0.1), byte(3)], { from: 10 }),
  one('MatMulInteger', [activation([6, 4], 'uint8'), weight([4, 3], 'uint8')], { from: 10 }),
  one('GridSample', [map(), activation([1, 5, 7, 2])], { from: 16, below: 20 }),
]; // biome-ignore format: a table

/** What graphs work out before they begin. */
const constants: readonly InferenceCase[] = [
  one('Shape', [map()]),
  one('Shape', [map()], { attributes: { start: int(1), end: int(-1) }, from: 15 }),
  one('Size', [map()]),
  one('Cast', [floats(1.75, -1.75, 0, 6)], { attributes: { to: int(7) }, from: 9 }),
  one('Cast', [indices([3, 0, -2])], { attributes: { to: int(1) }, from: 9 }),
  one('Cast', [indices([3, 0, -2])], { attributes: { to: int(9) }, from: 9 }),
  one('Cast', [fixed(int32(3, 0, -2))], { attributes: { to: int(7) }, from: 9 }),
  one('Add', [indices([1, 2, 3]), indices([10])]),
  one('Sub', [floats(0.1, 1e8), floats(0.3, 1)]),
  one('Mul', [weight([3, 5]), weight([5])]),
  one('Mul', [weight([3, 1, 5]), weight([2, 1])]),
  one('Div', [indices([7, -7, 8]), indices([2])]),
  one('Div', [floats(1, 2, 1e-30), floats(3, 7, 1e10)]),
  one('Sqrt', [floats(2, 3, 4)]),
  one('Neg', [floats(2, -3, 0)]),
  one('Floor', [floats(2.5, -2.5)]),
  one('Ceil', [floats(2.5, -2.5)]),
  one('Equal', [indices([1, -1, 3]), indices([-1])]),
  one('Greater', [floats(1, -1), floats(0, 0)], { from: 9 }),
  one('Less', [floats(1, -1), floats(0, 0)], { from: 9 }),
  one('Not', [bools(1, 0)]),
  one('And', [bools(1, 1, 0), bools(1, 0, 0)]),
  one('Or', [bools(1, 1, 0), bools(1, 0, 0)]),
  one('Where', [bools(1, 0, 1), indices([1, 2, 3]), indices([9])], { from: 9 }),
  one('Concat', [indices([1, 2]), indices([3])], { attributes: { axis: int(0) } }),
  one('Concat', [weight([2, 3]), weight([2, 1])], { attributes: { axis: int(1) } }),
  one('Gather', [indices([4, 5, 6]), fixed(int64Tensor([-1], []))], { attributes: { axis: int(0) }, from: 11 }),
  one('Gather', [weight([2, 5, 3]), indices([4, 0, 1, 1], [2, 2])], { attributes: { axis: int(1) } }),
  one('Slice', [weight([4, 5]), indices([3, 4]), indices([-100, 0]), indices([0, 1]), indices([-1, -2])], { from: 10 }),
  one('Slice', [indices([3, 4, 5, 6])], { attributes: { starts: ints(1), ends: ints(3) }, below: 10 }),
  one('Transpose', [weight([2, 3, 4])], { attributes: { perm: ints(2, 0, 1) } }),
  one('Transpose', [weight([3, 2], 'int64')]),
  one('Reshape', [weight([2, 6]), indices([3, -1])]),
  one('Unsqueeze', [fixed(int64Tensor([7], [])), indices([0])], { from: 13 }),
  one('Squeeze', [indices([7]), indices([0])], { from: 13 }),
  one('Expand', [weight([2, 1, 3]), indices([4, 1, 5, 3])], { from: 8 }),
  one('ConstantOfShape', [indices([2, 3])], { from: 9 }),
  one('ConstantOfShape', [indices([2, 3])], { attributes: { value: { type: 'tensor', value: int64Tensor([-7]) } }, from: 9 }),
  one('Range', [0, 7, 2].map((value) => fixed(int64Tensor([value], []))), { from: 11 }),
  one('Range', [5, -1, -2].map((value) => fixed(int64Tensor([value], []))), { from: 11 }),
  one('Identity', [weight([2, 3])]),
]; // biome-ignore format: a table

export const inferenceCases: readonly InferenceCase[] = [...pointwise, ...moves, ...sums, ...constants];
