/**
 * Emits float32 nodes of opset 17 and keeps the shape of everything it emits, so that gradient rules and losses
 * read like formulas. It knows operators, not gradients.
 */
import type { Attribute, Node, ValueInfo } from '../../../graph/graph.ts';
import { type DataType, float32Tensor, int64Tensor, type Tensor } from '../../../graph/tensor.ts';
import { broadcastShape, cutBounds, reducedShape, sameShape } from './shapes.ts';

/** A value of the graph with its concrete shape. */
export interface Ref {
  readonly name: string;
  readonly shape: readonly number[];
}

export type Attributes = Readonly<Record<string, Attribute>>;

export const int = (value: number): Attribute => ({ type: 'int', value });
export const ints = (value: readonly number[]): Attribute => ({ type: 'ints', value });
export const float = (value: number): Attribute => ({ type: 'float', value });
export const string = (value: string): Attribute => ({ type: 'string', value });

export class GraphBuilder {
  readonly nodes: Node[] = [];
  readonly constants = new Map<string, Tensor>();
  readonly values = new Map<string, ValueInfo>();
  readonly #taken: Set<string>;
  readonly #constantNames = new Map<string, string>();
  readonly #prefix: string;

  /** `taken`: names that are in use already. */
  constructor(taken: Iterable<string>, prefix: string) {
    this.#taken = new Set(taken);
    this.#prefix = prefix;
  }

  freshName(hint: string): string {
    for (let count = this.#taken.size; ; count++) {
      const name = `${this.#prefix}/${hint}_${count}`;
      if (this.#taken.has(name)) continue;
      this.#taken.add(name);
      return name;
    }
  }

  /** Adds a node with one output of the given shape. */
  node(
    opType: string,
    inputs: readonly (Ref | undefined)[],
    attributes: Attributes,
    shape: readonly number[],
    output: { readonly name?: string; readonly dataType?: DataType } = {},
  ): Ref {
    const name = output.name ?? this.freshName(opType);
    this.#taken.add(name);
    this.nodes.push({
      name,
      opType,
      domain: '',
      inputs: inputs.map((input) => input?.name ?? ''),
      outputs: [name],
      attributes: new Map(Object.entries(attributes)),
    });
    this.values.set(name, { name, dataType: output.dataType ?? 'float32', shape });
    return { name, shape };
  }

  constant(tensor: Tensor, hint = 'constant'): Ref {
    const small = tensor.data.byteLength <= 128;
    const key = `${tensor.dataType} ${tensor.dims} ${small ? tensor.data : ''}`;
    const known = small ? this.#constantNames.get(key) : undefined;
    const name = known ?? this.freshName(hint);
    if (known === undefined) this.constants.set(name, tensor);
    if (small) this.#constantNames.set(key, name);
    return { name, shape: tensor.dims };
  }

  scalar(value: number): Ref {
    return this.constant(float32Tensor([], [value]), 'scalar');
  }

  integers(values: readonly number[]): Ref {
    return this.constant(int64Tensor(values), 'integers');
  }

  zeros(shape: readonly number[]): Ref {
    return this.expand(this.scalar(0), shape);
  }

  unary(opType: string, x: Ref, attributes: Attributes = {}): Ref {
    return this.node(opType, [x], attributes, x.shape);
  }

  binary(opType: 'Add' | 'Sub' | 'Mul' | 'Div' | 'Pow' | 'Min' | 'Max', a: Ref, b: Ref): Ref {
    return this.node(opType, [a, b], {}, broadcastShape(a.shape, b.shape));
  }

  add(a: Ref, b: Ref): Ref {
    return this.binary('Add', a, b);
  }

  sub(a: Ref, b: Ref): Ref {
    return this.binary('Sub', a, b);
  }

  mul(a: Ref, b: Ref): Ref {
    return this.binary('Mul', a, b);
  }

  div(a: Ref, b: Ref): Ref {
    return this.binary('Div', a, b);
  }

  scale(x: Ref, factor: number): Ref {
    return factor === 1 ? x : this.mul(x, this.scalar(factor));
  }

  /** 1 where the comparison holds, else 0. */
  mask(opType: 'Greater' | 'Less' | 'GreaterOrEqual' | 'LessOrEqual', a: Ref, b: Ref): Ref {
    const shape = broadcastShape(a.shape, b.shape);
    const truth = this.node(opType, [a, b], {}, shape, { dataType: 'bool' });
    return this.node('Cast', [truth], { to: int(1) }, shape);
  }

  reshape(x: Ref, shape: readonly number[]): Ref {
    if (sameShape(x.shape, shape)) return x;
    // 0 would mean "as in the input", and such tensors are empty anyway.
    return this.node('Reshape', [x, this.integers(shape)], { allowzero: int(1) }, shape);
  }

  transpose(x: Ref, perm: readonly number[]): Ref {
    const shape = perm.map((axis) => x.shape[axis] ?? 0);
    // Where only axes of length 1 move, no element does, and reshaping costs nothing.
    const long = perm.filter((axis) => x.shape[axis] !== 1);
    if (long.every((axis, i) => i === 0 || axis > (long[i - 1] ?? 0))) return this.reshape(x, shape);
    return this.node('Transpose', [x], { perm: ints(perm) }, shape);
  }

  /** `ends` of -Infinity reach past the first element of a negative step. */
  slice(
    x: Ref,
    axes: readonly number[],
    starts: readonly number[],
    ends: readonly number[],
    steps: readonly number[] = axes.map(() => 1),
  ): Ref {
    const shape = [...x.shape];
    for (const [i, axis] of axes.entries()) {
      const [start, end, step] = [starts[i] ?? 0, ends[i] ?? 0, steps[i] ?? 1];
      const last = Math.max(end, -1);
      shape[axis] = Math.max(0, Math.ceil((last - start) / step));
    }
    if (sameShape(shape, x.shape) && steps.every((step) => step === 1)) return x;
    const bounds = [starts, ends.map((end) => (end < 0 ? Number.MIN_SAFE_INTEGER : end)), axes, steps].map(
      (list) => this.integers(list),
    );
    return this.node('Slice', [x, ...bounds], {}, shape);
  }

  /** Zeros around; negative amounts cut. */
  pad(x: Ref, before: readonly number[], after: readonly number[]): Ref {
    const axes = x.shape.map((_, axis) => axis);
    const cut = this.slice(
      x,
      axes.filter((axis) => (before[axis] ?? 0) < 0 || (after[axis] ?? 0) < 0),
      ...cutBounds(x.shape, before, after),
    );
    const positive = [before, after].map((list) => axes.map((axis) => Math.max(0, list[axis] ?? 0)));
    const [front = [], back = []] = positive;
    if ([...front, ...back].every((amount) => amount === 0)) return cut;
    const shape = cut.shape.map((length, axis) => length + (front[axis] ?? 0) + (back[axis] ?? 0));
    return this.node('Pad', [cut, this.integers([...front, ...back])], { mode: string('constant') }, shape);
  }

  reduceSum(x: Ref, axes: readonly number[], keepDims: boolean): Ref {
    if (axes.length === 0) return x;
    return this.node(
      'ReduceSum',
      [x, this.integers(axes)],
      { keepdims: int(keepDims ? 1 : 0) },
      reducedShape(x.shape, axes, keepDims),
    );
  }

  reduceWith(
    opType: 'ReduceMean' | 'ReduceSumSquare' | 'ReduceMax' | 'ReduceMin',
    x: Ref,
    axes: readonly number[],
    keepDims: boolean,
  ): Ref {
    const attributes = { axes: ints(axes), keepdims: int(keepDims ? 1 : 0) };
    return this.node(opType, [x], attributes, reducedShape(x.shape, axes, keepDims));
  }

  /** The sum over what was broadcast from `shape`: the gradient of broadcasting. */
  sumTo(x: Ref, shape: readonly number[]): Ref {
    const lead = x.shape.length - shape.length;
    const axes = x.shape.flatMap((length, axis) =>
      axis < lead || (shape[axis - lead] === 1 && length !== 1) ? [axis] : [],
    );
    return this.reshape(this.reduceSum(x, axes, true), shape);
  }

  expand(x: Ref, shape: readonly number[]): Ref {
    if (sameShape(x.shape, shape)) return x;
    return this.node('Expand', [x, this.integers(shape)], {}, shape);
  }

  concat(parts: readonly Ref[], axis: number): Ref {
    const [first] = parts;
    if (first === undefined) throw new RangeError('Nothing to concatenate.');
    if (parts.length === 1) return first;
    const shape = [...first.shape];
    shape[axis] = parts.reduce((sum, part) => sum + (part.shape[axis] ?? 0), 0);
    return this.node('Concat', parts, { axis: int(axis) }, shape);
  }

  /** Both of rank 2 or more; leading axes broadcast. */
  matMul(a: Ref, b: Ref): Ref {
    const lead = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
    return this.node('MatMul', [a, b], {}, [...lead, a.shape.at(-2) ?? 1, b.shape.at(-1) ?? 1]);
  }

  /** alpha op(a) op(b) for two matrices, without copying a transposed one. */
  gemm(a: Ref, b: Ref, transA: boolean, transB: boolean, alpha = 1): Ref {
    return this.node(
      'Gemm',
      [a, b],
      { alpha: float(alpha), transA: int(transA ? 1 : 0), transB: int(transB ? 1 : 0) },
      [a.shape[transA ? 1 : 0] ?? 0, b.shape[transB ? 0 : 1] ?? 0],
    );
  }

  reshapeIntegers(x: Ref, shape: readonly number[]): Ref {
    if (sameShape(x.shape, shape)) return x;
    return this.node('Reshape', [x, this.integers(shape)], { allowzero: int(1) }, shape, {
      dataType: 'int64',
    });
  }
}
