/** What sums over an axis: products of matrices, normalisation, softmax, reductions. */
import { int64Tensor } from '../../../graph/tensor.ts';
import type { GradientCase } from '../centralDifferences.ts';
import {
  between,
  broadcasting,
  dims,
  float,
  floats,
  int,
  ints,
  type MakeCase,
  pick,
  type Random,
  within,
} from './randomValues.ts';

export const summingCases = {
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
  LogSoftmax: (opType, random) => softmaxCase(opType, random),
  MatMul: (opType, random) => {
    const [m, n, k] = [between(random, 1, 4), between(random, 1, 4), between(random, 1, 4)];
    const [a, b] = broadcasting(random);
    const left = random() < 0.15 ? [k] : [...a.slice(-2), m, k];
    const right = random() < 0.15 ? [k] : random() < 0.3 ? [k, n] : [...b.slice(-2), k, n];
    return { opType, inputs: [floats(random, left), floats(random, right)] };
  },
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
  Softmax: (opType, random) => softmaxCase(opType, random),
} satisfies Readonly<Record<string, MakeCase>>;

function softmaxCase(opType: string, random: Random): GradientCase {
  return {
    opType,
    attributes: { axis: int(pick(random, -1, 0, 1)) },
    inputs: [floats(random, dims(random, 3))],
  };
}
