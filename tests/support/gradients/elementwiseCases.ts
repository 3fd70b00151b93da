/** Element by element: operators with bends are asked away from them. */
import { float32Tensor } from '../../../graph/tensor.ts';
import type { GradientCase } from '../centralDifferences.ts';
import {
  anyShape,
  away,
  between,
  binary,
  broadcasting,
  dims,
  filled,
  float,
  floats,
  type MakeCase,
  pick,
  type Random,
  unary,
  within,
} from './randomValues.ts';

export const elementwiseCases = {
  Abs: unary((random, shape) => away(random, shape, 0)),
  Add: binary(floats, floats),
  Clip: (opType, random) => ({
    opType,
    inputs: [
      away(random, dims(random, 3), -1, 0.5),
      random() < 0.3 ? null : float32Tensor([], [-1]),
      random() < 0.3 ? null : float32Tensor([], [0.5]),
    ],
    settings: [1, 2],
  }),
  Div: binary(floats, (random, shape) => within(random, shape, 0.5, 2)),
  Erf: anyShape,
  Exp: anyShape,
  HardSigmoid: unary((random, shape) => away(random, shape, -1, 1.5), {
    alpha: float(0.4),
    beta: float(0.4),
  }),
  HardSwish: unary((random, shape) => {
    return filled(shape, () => pick(random, -4, -2, 0.5, 2.5, 4) + 0.3 * random());
  }),
  Identity: anyShape,
  LeakyRelu: unary((random, shape) => away(random, shape, 0), { alpha: float(0.2) }),
  Log: unary((random, shape) => within(random, shape, 0.5, 2)),
  Max: extremeCase,
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
  Pow: (opType, random) => {
    const [a, b] = broadcasting(random);
    const base = within(random, a, 0.5, 2);
    return random() < 0.4
      ? { opType, inputs: [base, float32Tensor([], [pick(random, 2, 3, 0.5)])], settings: [1] }
      : { opType, inputs: [base, floats(random, b)] };
  },
  Reciprocal: unary((random, shape) => within(random, shape, 0.5, 2)),
  Relu: unary((random, shape) => away(random, shape, 0)),
  Sigmoid: anyShape,
  Sqrt: unary((random, shape) => within(random, shape, 0.5, 2)),
  Sub: binary(floats, floats),
  Sum: (opType, random) => {
    const [a, b] = broadcasting(random);
    return { opType, inputs: [floats(random, a), floats(random, b), floats(random, a)] };
  },
  Tanh: anyShape,
} satisfies Readonly<Record<string, MakeCase>>;

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
