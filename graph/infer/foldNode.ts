/**
 * What a node makes of constants, where that takes no engine: elements that only move, and the small arithmetic with
 * which exported graphs work out their shapes. The same bits as onnxruntime's, or undefined.
 */
import { constantOfShapeAttributes } from '../attributes/values.ts';
import type { ShapedValue } from '../nodeView.ts';
import { elementCount, float32View, readIntegers, type Tensor } from '../tensor.ts';
import {
  broadcastPosition,
  concat,
  expand,
  type Fold,
  gather,
  integersOf,
  slice,
  stridesOf,
  transpose,
} from './foldMoves.ts';
import type { InferenceView } from './inferRule.ts';
import { shapeSlice } from './reductions.ts';

/** Arithmetic on more elements is left to the engine. */
const mostNumbers = 4096;

/** `output` is what inferNode says of the node's only output. */
export function foldNode(view: InferenceView, output: ShapedValue): Tensor | undefined {
  return view.node.outputs.length === 1 ? folds.get(view.node.opType)?.(view, output) : undefined;
}

const rename: Fold = (view, { shape }) => {
  const tensor = view.constant(0);
  return tensor && { ...tensor, dims: shape };
};

const shapeOf: Fold = (view) => {
  const shape = view.input(0)?.shape ?? [];
  const lengths = shapeSlice(view.node, shape.length).map((axis) => shape[axis] ?? 0);
  return numbersTensor({ dataType: 'int64', shape: [lengths.length] }, lengths);
};

const sizeOf: Fold = (view, output) => numbersTensor(output, [elementCount(view.input(0)?.shape ?? [])]);

const constantOfShape: Fold = (view, { dataType, shape }) => {
  if (dataType === 'string') return undefined;
  const { data: element } = constantOfShapeAttributes(view.node).value;
  const data = new Uint8Array(elementCount(shape) * element.length);
  data.set(element);
  for (let filled = element.length; filled < data.length; filled *= 2) data.copyWithin(filled, 0, filled);
  return { dataType, dims: shape, data };
};

const range: Fold = (view, output) => {
  const [start = 0, , delta = 1] = [0, 1, 2].map((i) => numbersOf(view.constant(i))?.[0]);
  return numbersTensor(
    output,
    Array.from({ length: output.shape[0] ?? 0 }, (_, i) => start + i * delta),
  );
};

const cast: Fold = (view, output) => {
  const from = view.constant(0);
  const numbers = numbersOf(from);
  // From a float only what is in between: what is too large differs from machine to machine.
  if (numbers?.some((value) => !(Math.abs(value) < 2 ** 31)) !== false) return undefined;
  return numbersTensor(
    output,
    output.dataType === 'bool' ? numbers.map((value) => (value === 0 ? 0 : 1)) : numbers,
  );
};

/** Elements one by one of inputs that are broadcast against each other. */
function each(compute: (values: readonly number[], isInteger: boolean) => number): Fold {
  return (view, output) => {
    const inputs = view.node.inputs.map((_, i) => {
      const tensor = view.constant(i);
      return { dims: tensor?.dims ?? [], dataType: tensor?.dataType, numbers: numbersOf(tensor) };
    });
    if (elementCount(output.shape) > mostNumbers) return undefined;
    const isInteger = inputs[0]?.dataType !== 'float32';
    const results: number[] = [];
    const places = inputs.map(({ dims }) => broadcastPosition(dims, output.shape.length));
    const strides = stridesOf(output.shape);
    for (let position = 0; position < elementCount(output.shape); position++) {
      const at = output.shape.map((length, axis) => Math.floor(position / (strides[axis] ?? 1)) % length);
      const values = inputs.map(({ numbers }, i) => numbers?.[places[i]?.(at) ?? 0]);
      if (!values.every((value) => value !== undefined)) return undefined;
      results.push(compute(values, isInteger));
    }
    return numbersTensor(output, results);
  };
}

const binary = (compute: (a: number, b: number, isInteger: boolean) => number) =>
  each(([a = 0, b = 0], isInteger) => compute(a, b, isInteger));
const unary = (compute: (a: number) => number) => each(([a = 0]) => compute(a));

const folds: ReadonlyMap<string, Fold> = new Map(
  Object.entries<Fold>({
    Add: binary((a, b) => a + b),
    And: binary((a, b) => a & b),
    Cast: cast,
    Ceil: unary(Math.ceil),
    Concat: concat,
    ConstantOfShape: constantOfShape,
    Div: binary((a, b, isInteger) => (isInteger ? Math.trunc(a / b) : a / b)),
    Equal: binary((a, b) => Number(a === b)),
    Expand: expand,
    Flatten: rename,
    Floor: unary(Math.floor),
    Gather: gather,
    Greater: binary((a, b) => Number(a > b)),
    Identity: rename,
    Less: binary((a, b) => Number(a < b)),
    Mul: binary((a, b) => a * b),
    Neg: unary((a) => -a),
    Not: unary((a) => 1 - a),
    Or: binary((a, b) => a | b),
    Range: range,
    Reshape: rename,
    Shape: shapeOf,
    Size: sizeOf,
    Slice: slice,
    Sqrt: unary(Math.sqrt),
    Squeeze: rename,
    Sub: binary((a, b) => a - b),
    Transpose: transpose,
    Unsqueeze: rename,
    Where: each(([condition, yes = 0, no = 0]) => (condition === 0 ? no : yes)),
  }),
);

/** Undefined where there are too many, or some that a double does not hold. */
function numbersOf(tensor: Tensor | undefined): readonly number[] | undefined {
  if (tensor === undefined || elementCount(tensor.dims) > mostNumbers) return undefined;
  if (tensor.dataType === 'float32') return [...float32View(tensor)];
  const integers = tensor.dataType === 'bool' ? readIntegers(tensor) : integersOf(tensor);
  return integers?.every(Number.isSafeInteger) === true ? integers : undefined;
}

/** One rounding to float32 after double arithmetic is what float32 arithmetic gives for + - * / and roots. */
function numbersTensor({ dataType, shape }: ShapedValue, numbers: readonly number[]): Tensor | undefined {
  if (dataType === 'float32') return bytesOf(dataType, shape, Float32Array.from(numbers));
  if (!numbers.every((value) => Number.isFinite(value))) return undefined;
  const whole = numbers.map(Math.trunc);
  if (dataType === 'bool') return bytesOf(dataType, shape, Uint8Array.from(whole));
  if (dataType === 'int32') {
    return whole.every((value) => (value | 0) === value)
      ? bytesOf(dataType, shape, Int32Array.from(whole))
      : undefined;
  }
  if (dataType !== 'int64' || !whole.every(Number.isSafeInteger)) return undefined;
  return bytesOf(dataType, shape, BigInt64Array.from(whole, BigInt));
}

function bytesOf(dataType: Tensor['dataType'], dims: readonly number[], array: ArrayBufferView): Tensor {
  return { dataType, dims, data: new Uint8Array(array.buffer, array.byteOffset, array.byteLength) };
}
