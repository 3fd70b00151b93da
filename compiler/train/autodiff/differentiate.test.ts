import { expect, test } from 'vitest';
import { createHeapBackend } from '../../../backends/ortHeap.ts';
import type { Attribute, Graph } from '../../../graph/graph.ts';
import { normal, seededRandom } from '../../../graph/random.ts';
import { elementCount, float32Tensor, int64Tensor, type Tensor } from '../../../graph/tensor.ts';
import { type GradientCase, gradientError } from '../../../tests/support/centralDifferences.ts';
import { differentiate } from './differentiate.ts';
import { type DifferentiableOperator, differentiableOperators } from './rules/rules.ts';

type Random = () => number;

const int = (value: number): Attribute => ({ type: 'int', value });
const ints = (...value: number[]): Attribute => ({ type: 'ints', value });
const float = (value: number): Attribute => ({ type: 'float', value });
const string = (value: string): Attribute => ({ type: 'string', value });

function between(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

function pick<T>(random: Random, ...choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

function dims(random: Random, rank: number, low = 1, high = 4): number[] {
  return Array.from({ length: rank }, () => between(random, low, high));
}

function filled(shape: readonly number[], value: (i: number) => number): Tensor {
  return float32Tensor(
    shape,
    Array.from({ length: elementCount(shape) }, (_, i) => value(i)),
  );
}

const floats = (random: Random, shape: readonly number[]): Tensor => filled(shape, () => normal(random));

/** Values at least 0.05 away from every point where the operator bends. */
function away(random: Random, shape: readonly number[], ...bends: number[]): Tensor {
  return filled(shape, () => {
    for (;;) {
      const value = 1.5 * normal(random);
      if (bends.every((bend) => Math.abs(value - bend) > 0.05)) return value;
    }
  });
}

/** Values in [low, high]. */
const within = (random: Random, shape: readonly number[], low: number, high: number): Tensor =>
  filled(shape, () => low + (high - low) * random());

/** All different by at least 0.1, in random order, so that no step changes which one is largest. */
function distinct(random: Random, shape: readonly number[]): Tensor {
  const order = Array.from({ length: elementCount(shape) }, () => random());
  const ranks = order.map((value) => order.filter((other) => other < value).length);
  return filled(shape, (i) => 0.1 * ((ranks[i] ?? 0) - order.length / 2));
}

/** Two shapes that broadcast together. */
function broadcasting(random: Random): [number[], number[]] {
  const shape = dims(random, between(random, 1, 4));
  const cut = (): number[] =>
    shape.slice(between(random, 0, shape.length)).map((length) => (random() < 0.3 ? 1 : length));
  return random() < 0.5 ? [shape, cut()] : [cut(), shape];
}

function unary(make: (random: Random, shape: number[]) => Tensor, attributes = {}) {
  return (opType: string, random: Random): GradientCase => ({
    opType,
    attributes,
    inputs: [make(random, dims(random, between(random, 1, 4)))],
  });
}

function binary(left: typeof floats, right: typeof floats) {
  return (opType: string, random: Random): GradientCase => {
    const [a, b] = broadcasting(random);
    return { opType, inputs: [left(random, a), right(random, b)] };
  };
}

const anyShape = unary(floats);

function sliding(random: Random, space: number, dilated = true) {
  const kernel = dims(random, space, 1, 3);
  const strides = dims(random, space, 1, 2);
  const dilations = dilated ? dims(random, space, 1, 2) : kernel.map(() => 1);
  return { kernel, strides, dilations };
}

/** Where a window may begin in the padding, ONNX's shape inference and onnxruntime count positions differently. */
function ceilMode(random: Random, kernel: number[], strides: number[], pads: number[]): number {
  const agreed = kernel.every((k, axis) => k >= (strides[axis] ?? 1) && pads[axis] === 0);
  return agreed ? between(random, 0, 1) : 0;
}

const cases: {
  readonly [Op in DifferentiableOperator]: (opType: string, random: Random) => GradientCase;
} = {
  Abs: unary((random, shape) => away(random, shape, 0)),
  Add: binary(floats, floats),
  AveragePool: (opType, random) => {
    const { kernel, strides } = sliding(random, 2, false);
    const pads = kernel.map((k) => between(random, 0, k - 1));
    const tiled = random() < 0.3;
    const includes = between(random, 0, 1);
    return {
      opType,
      attributes: {
        kernel_shape: ints(...kernel),
        strides: ints(...(tiled ? kernel : strides)),
        pads: tiled ? ints(0, 0, 0, 0) : ints(...pads, ...pads),
        count_include_pad: int(includes),
        ceil_mode: int(includes === 0 && !tiled ? ceilMode(random, kernel, strides, pads) : 0),
      },
      inputs: [
        floats(random, tiled ? [2, 2, ...kernel.map((k) => 2 * k)] : [2, 2, ...dims(random, 2, 4, 6)]),
      ],
    };
  },
  BatchNormalization: (opType, random) => {
    const c = between(random, 1, 3);
    const training = random() < 0.7;
    return {
      opType,
      attributes: training
        ? { training_mode: int(1), momentum: float(0), epsilon: float(1e-3) }
        : { epsilon: float(1e-3) },
      inputs: [
        floats(random, [3, c, ...dims(random, 2, 2, 3)]),
        floats(random, [c]),
        floats(random, [c]),
        floats(random, [c]),
        within(random, [c], 0.5, 2),
      ],
      settings: [3, 4],
      ...(training ? { furtherOutputs: ['mean', 'variance'] } : {}),
    };
  },
  Clip: (opType, random) => ({
    opType,
    inputs: [
      away(random, dims(random, 3), -1, 0.5),
      random() < 0.3 ? null : float32Tensor([], [-1]),
      random() < 0.3 ? null : float32Tensor([], [0.5]),
    ],
    settings: [1, 2],
  }),
  Concat: (opType, random) => {
    const shape = dims(random, between(random, 1, 4));
    const axis = between(random, 0, shape.length - 1);
    const part = (): Tensor => {
      return floats(
        random,
        shape.map((length, i) => (i === axis ? between(random, 1, 3) : length)),
      );
    };
    return {
      opType,
      attributes: { axis: int(random() < 0.5 ? axis : axis - shape.length) },
      inputs: [part(), part(), part()],
    };
  },
  Conv: (opType, random) => {
    const space = between(random, 1, 2);
    const { kernel, strides, dilations } = sliding(random, space);
    const group = pick(random, 1, 1, 2, 3);
    const [perIn, perOut] = [between(random, 1, 3), between(random, 1, 2)];
    // More padding than the kernel reaches is allowed too.
    const pads = [...kernel, ...kernel].map((k) => between(random, 0, k));
    return {
      opType,
      attributes: {
        strides: ints(...strides),
        dilations: ints(...dilations),
        group: int(group),
        ...(random() < 0.2 && dilations.every((d) => d === 1)
          ? { auto_pad: string(pick(random, 'SAME_UPPER', 'SAME_LOWER', 'VALID')) }
          : { pads: ints(...pads) }),
      },
      inputs: [
        floats(random, [2, group * perIn, ...dims(random, space, 5, 7)]),
        floats(random, [group * perOut, perIn, ...kernel]),
        ...(random() < 0.5 ? [floats(random, [group * perOut])] : []),
      ],
    };
  },
  ConvTranspose: (opType, random) => {
    const { kernel, strides, dilations } = sliding(random, 2);
    const group = pick(random, 1, 2);
    const [perIn, perOut] = [between(random, 1, 2), between(random, 1, 2)];
    return {
      opType,
      attributes: {
        strides: ints(...strides),
        dilations: ints(...dilations),
        group: int(group),
        pads: ints(...[...kernel, ...kernel].map((k) => between(random, 0, k - 1))),
        output_padding: ints(...strides.map((s) => between(random, 0, s - 1))),
      },
      inputs: [
        floats(random, [2, group * perIn, ...dims(random, 2, 3, 4)]),
        floats(random, [group * perIn, perOut, ...kernel]),
        ...(random() < 0.5 ? [floats(random, [group * perOut])] : []),
      ],
    };
  },
  DepthToSpace: (opType, random) => ({
    opType,
    attributes: { blocksize: int(2), mode: string(pick(random, 'DCR', 'CRD')) },
    inputs: [floats(random, [2, 4 * between(random, 1, 2), ...dims(random, 2)])],
  }),
  Div: binary(floats, (random, shape) => within(random, shape, 0.5, 2)),
  Erf: anyShape,
  Exp: anyShape,
  Expand: (opType, random) => {
    const [a, b] = broadcasting(random);
    return { opType, inputs: [floats(random, a), int64Tensor(b)], settings: [1] };
  },
  Flatten: (opType, random) => ({
    opType,
    attributes: { axis: int(between(random, 0, 3)) },
    inputs: [floats(random, dims(random, 3))],
  }),
  Gather: (opType, random) => {
    const shape = dims(random, between(random, 1, 3), 2, 4);
    const axis = between(random, 0, shape.length - 1);
    const indexShape = dims(random, between(random, 0, 2), 1, 3);
    const length = shape[axis] ?? 1;
    const indices = Array.from({ length: elementCount(indexShape) }, () =>
      between(random, -length, length - 1),
    );
    return {
      opType,
      attributes: { axis: int(axis) },
      inputs: [floats(random, shape), int64Tensor(indices, indexShape)],
      settings: [1],
    };
  },
  Gemm: (opType, random) => {
    const [m, n, k] = [between(random, 1, 4), between(random, 1, 4), between(random, 1, 4)];
    const [transA, transB] = [between(random, 0, 1), between(random, 0, 1)];
    const bias = pick(random, [m, n], [n], [1, n], [m, 1], [1]);
    return {
      opType,
      attributes: { alpha: float(0.7), beta: float(1.3), transA: int(transA), transB: int(transB) },
      inputs: [
        floats(random, transA === 1 ? [k, m] : [m, k]),
        floats(random, transB === 1 ? [n, k] : [k, n]),
        ...(random() < 0.8 ? [floats(random, bias)] : []),
      ],
    };
  },
  GlobalAveragePool: (opType, random) => ({ opType, inputs: [floats(random, dims(random, 4))] }),
  HardSigmoid: unary((random, shape) => away(random, shape, -1, 1.5), {
    alpha: float(0.4),
    beta: float(0.4),
  }),
  HardSwish: unary((random, shape) => {
    return filled(shape, () => pick(random, -4, -2, 0.5, 2.5, 4) + 0.3 * random());
  }),
  Identity: anyShape,
  LayerNormalization: (opType, random) => {
    const shape = [...dims(random, 2, 1, 3), ...dims(random, 2, 2, 4)];
    const axis = pick(random, -1, -2, 2, 1);
    const inner = shape.slice(axis < 0 ? axis + shape.length : axis);
    return {
      opType,
      attributes: { axis: int(axis), epsilon: float(1e-2) },
      inputs: [
        floats(random, shape),
        floats(random, inner),
        ...(random() < 0.7 ? [floats(random, inner)] : []),
      ],
    };
  },
  LeakyRelu: unary((random, shape) => away(random, shape, 0), { alpha: float(0.2) }),
  Log: unary((random, shape) => within(random, shape, 0.5, 2)),
  LogSoftmax: (opType, random) => softmaxCase(opType, random),
  MatMul: (opType, random) => {
    const [m, n, k] = [between(random, 1, 4), between(random, 1, 4), between(random, 1, 4)];
    const [a, b] = broadcasting(random);
    const left = random() < 0.15 ? [k] : [...a.slice(-2), m, k];
    const right = random() < 0.15 ? [k] : random() < 0.3 ? [k, n] : [...b.slice(-2), k, n];
    return { opType, inputs: [floats(random, left), floats(random, right)] };
  },
  Max: extremeCase,
  MaxPool: (opType, random) => {
    const { kernel, strides, dilations } = sliding(random, 2);
    const pads = kernel.map((k) => between(random, 0, Math.floor(k / 2)));
    return {
      opType,
      attributes: {
        kernel_shape: ints(...kernel),
        strides: ints(...strides),
        dilations: ints(...dilations),
        pads: ints(...pads, ...pads),
        ceil_mode: int(ceilMode(random, kernel, strides, pads)),
      },
      inputs: [distinct(random, [2, 2, ...dims(random, 2, 5, 6)])],
    };
  },
  Min: extremeCase,
  Mul: binary(floats, floats),
  Neg: anyShape,
  PRelu: (opType, random) => {
    const shape = dims(random, 4);
    return {
      opType,
      inputs: [away(random, shape, 0), floats(random, pick(random, [1], [shape[1] ?? 1, 1, 1], shape))],
    };
  },
  Pad: (opType, random) => {
    const shape = dims(random, between(random, 1, 3), 3, 4);
    const pads = [...shape, ...shape].map(() => between(random, -1, 2));
    return {
      opType,
      attributes: { mode: string('constant') },
      inputs: [floats(random, shape), int64Tensor(pads), float32Tensor([], [0.5])],
      settings: [2],
    };
  },
  Pow: (opType, random) => {
    const [a, b] = broadcasting(random);
    const base = within(random, a, 0.5, 2);
    return random() < 0.4
      ? { opType, inputs: [base, float32Tensor([], [pick(random, 2, 3, 0.5)])], settings: [1] }
      : { opType, inputs: [base, floats(random, b)] };
  },
  Reciprocal: unary((random, shape) => within(random, shape, 0.5, 2)),
  ReduceMean: (opType, random) => {
    const shape = dims(random, 3);
    const axes = pick(random, [0], [1, 2], [-1], [0, 2]);
    return {
      opType,
      attributes: {
        keepdims: int(between(random, 0, 1)),
        ...(random() < 0.8 ? { axes: ints(...axes) } : {}),
      },
      inputs: [floats(random, shape)],
    };
  },
  ReduceSum: (opType, random) => {
    const axes = pick(random, [0], [1, 2], [-1], [0, 2], []);
    return {
      opType,
      attributes: { keepdims: int(between(random, 0, 1)), noop_with_empty_axes: int(between(random, 0, 1)) },
      inputs: [floats(random, dims(random, 3)), int64Tensor(axes)],
    };
  },
  Relu: unary((random, shape) => away(random, shape, 0)),
  Reshape: (opType, random) => {
    const shape = dims(random, 3);
    return { opType, inputs: [floats(random, shape), int64Tensor([-1, shape[2] ?? 1])] };
  },
  Resize: (opType, random) => {
    const shape = [1, 2, ...dims(random, 2, 2, 4)];
    const mode = pick(random, 'nearest', 'linear');
    const coordinates = pick(random, 'half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel');
    const sizes = random() < 0.5;
    const to = shape.map((length, axis) => (axis < 2 ? length : between(random, 1, 2 * length)));
    return {
      opType,
      attributes: {
        mode: string(mode),
        coordinate_transformation_mode: string(coordinates),
        nearest_mode: string(pick(random, 'floor', 'ceil', 'round_prefer_floor', 'round_prefer_ceil')),
      },
      inputs: [
        floats(random, shape),
        null,
        sizes ? null : float32Tensor([4], [1, 1, pick(random, 1, 2, 3), pick(random, 1.5, 2)]),
        ...(sizes ? [int64Tensor(to)] : []),
      ],
      settings: [2, 3],
    };
  },
  Sigmoid: anyShape,
  Slice: (opType, random) => {
    const shape = dims(random, 3, 3, 6);
    const axes = pick(random, [0, 1, 2], [2], [-1, 0]);
    const steps = axes.map(() => pick(random, 1, 2, 3, -1, -2));
    const bounds = axes.map((axis, i) => {
      const length = shape.at(axis) ?? 1;
      const low = between(random, 0, 1);
      if ((steps[i] ?? 1) < 0) return [pick(random, length - 1, -1, 100), low === 0 ? -1000 : low - 1];
      return [pick(random, low, low - length), pick(random, length, 1000, -1)];
    });
    return {
      opType,
      inputs: [
        floats(random, shape),
        int64Tensor(bounds.map(([start]) => start ?? 0)),
        int64Tensor(bounds.map(([, end]) => end ?? 0)),
        int64Tensor(axes),
        int64Tensor(steps),
      ],
    };
  },
  Softmax: (opType, random) => softmaxCase(opType, random),
  Sqrt: unary((random, shape) => within(random, shape, 0.5, 2)),
  Squeeze: (opType, random) => {
    const shape = dims(random, 2);
    return {
      opType,
      inputs: [floats(random, [1, ...shape, 1]), ...(random() < 0.5 ? [int64Tensor([0])] : [])],
    };
  },
  Sub: binary(floats, floats),
  Sum: (opType, random) => {
    const [a, b] = broadcasting(random);
    return { opType, inputs: [floats(random, a), floats(random, b), floats(random, a)] };
  },
  Tanh: anyShape,
  Transpose: (opType, random) => ({
    opType,
    attributes: pick<Record<string, Attribute>>(random, {}, { perm: ints(1, 2, 0) }, { perm: ints(0, 2, 1) }),
    inputs: [floats(random, dims(random, 3))],
  }),
  Unsqueeze: (opType, random) => ({
    opType,
    inputs: [floats(random, dims(random, 2)), int64Tensor(pick(random, [0], [-1], [1, 3]))],
  }),
};

function softmaxCase(opType: string, random: Random): GradientCase {
  return {
    opType,
    attributes: { axis: int(pick(random, -1, 0, 1)) },
    inputs: [floats(random, dims(random, 3))],
  };
}

/** Sums of distinct multiples of 0.1 and of a fraction that differs by input never tie. */
function extremeCase(opType: string, random: Random): GradientCase {
  const [a, b] = broadcasting(random);
  return {
    opType,
    inputs: [
      filled(a, () => 0.1 * between(random, -9, 9)),
      filled(b, () => 0.1 * between(random, -9, 9) + 0.05),
    ],
  };
}

const backend = await createHeapBackend();
/** Cases per operator; every case has its own seed, which a failure names. */
const casesPerOperator = 8;

for (const opType of differentiableOperators) {
  test(`the gradient of ${opType} agrees with central differences`, async () => {
    for (let seed = 1; seed <= casesPerOperator; seed++) {
      const random = seededRandom(seed * 7919);
      const error = await gradientError(backend, cases[opType](opType, random), random);
      expect(error, `seed ${seed}`).toBeLessThan(0.01);
    }
  });
}

test('a gradient that is wrong is noticed', async () => {
  const random = seededRandom(1);
  // The derivative of |x| at its bend: central differences see 0, the rule its side.
  const bend: GradientCase = { opType: 'Abs', inputs: [float32Tensor([2], [0.001, 1])] };
  expect(await gradientError(backend, bend, random)).toBeGreaterThan(0.05);
});

const shaped = (name: string, shape: number[]) => ({ name, dataType: 'float32' as const, shape });

test('an operator without a rule is named', () => {
  const graph: Graph = {
    name: 'g',
    inputs: [shaped('x', [1])],
    outputs: [shaped('y', [1])],
    nodes: [
      { name: 'odd', opType: 'Cosh', domain: '', inputs: ['x'], outputs: ['y'], attributes: new Map() },
    ],
    initializers: new Map(),
    values: new Map(),
  };
  expect(() => differentiate(graph, 'y', ['x'])).toThrow(/"odd" \(Cosh\)/);
});
