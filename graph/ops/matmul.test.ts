import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  activation,
  type CaseInput,
  fixed,
  float,
  floats,
  int,
  type OperatorCase,
  present,
  random,
  text,
  weight,
} from '../../tests/support/operatorCase.ts';
import { checkParts, checkRule } from '../../tests/support/partCheck.ts';
import { float32Tensor } from '../tensor.ts';
import { einsum } from './einsum.ts';
import { gemm } from './gemm.ts';
import { matMul, matMulInteger, qLinearMatMul } from './matmul.ts';

const length = fc.integer({ min: 2, max: 5 });
const operand = (constant: boolean, dims: readonly number[], transposed = false): CaseInput => {
  const shape = transposed ? [...dims].reverse() : dims;
  return constant ? weight(shape) : activation(shape);
};

/** Which of A and B is constant. */
const constants = fc.constantFrom([false, false], [false, true], [true, false]);

const leadings = fc.constantFrom(
  { a: [], b: [] },
  { a: [2], b: [] },
  { a: [], b: [3] },
  { a: [2, 3], b: [2, 3] },
  { a: [2, 1], b: [2, 3] },
  { a: [3], b: [2, 1] },
);

const products: fc.Arbitrary<OperatorCase> = fc
  .tuple(constants, leadings, length, length, length)
  .map(([[a, b], leading, m, k, n]) => ({
    opType: 'MatMul',
    attributes: {},
    inputs: [operand(a === true, [...leading.a, m, k]), operand(b === true, [...leading.b, k, n])],
  }));

test('MatMul of activations and weights along every axis', async () => {
  await checkRule(matMul, products, { axes: [0, 1, 2, 3], numRuns: 80 });
});

test('MatMul with a vector is not divided', async () => {
  const operator = { opType: 'MatMul', attributes: {}, inputs: [activation([4]), weight([4, 3])] };
  expect((await checkParts(matMul, [operator])).axes.size).toBe(0);
});

test('Gemm with transposes and any bias', async () => {
  const cases = fc
    .record({
      constant: constants,
      transA: fc.boolean(),
      transB: fc.boolean(),
      m: length,
      k: length,
      n: length,
      bias: fc.constantFrom('none', 'scalar', 'row', 'column', 'matrix', 'computed'),
    })
    .map(({ constant, transA, transB, m, k, n, bias }): OperatorCase => {
      const biases = {
        none: null,
        scalar: weight([]),
        row: weight([n]),
        column: weight([m, 1]),
        matrix: weight([m, n]),
        computed: activation([m, n]),
      };
      return {
        opType: 'Gemm',
        attributes: present({
          transA: transA ? int(1) : undefined,
          transB: transB ? int(1) : undefined,
          alpha: float(0.5),
          beta: float(2),
        }),
        inputs: [
          operand(constant[0] === true, [m, k], transA),
          operand(constant[1] === true, [k, n], transB),
          biases[bias],
        ],
      };
    });
  await checkRule(gemm, cases, { axes: [0, 1], numRuns: 80 });
});

const equations: readonly (readonly [string, readonly (readonly number[])[]])[] = [
  ['bhqd,bhkd->bhqk', [[2, 3, 4, 5], [2, 3, 6, 5]]],
  ['bhqk,bhkd->bqhd', [[2, 3, 4, 5], [2, 3, 5, 6]]],
  ['btd,dhe->bhte', [[1, 4, 6], [6, 2, 3]]],
  ['nchw,c->nchw', [[1, 4, 3, 2], [4]]],
  ['ij,jk', [[3, 4], [4, 5]]],
  ['i,j->ij', [[3], [4]]],
  ['ij->ji', [[3, 4]]],
]; // biome-ignore format: a table

test('Einsum as a contraction and batched', async () => {
  const cases = fc.tuple(fc.constantFrom(...equations), constants).map(
    ([[equation, shapes], constant]): OperatorCase => ({
      opType: 'Einsum',
      attributes: { equation: text(equation) },
      inputs: shapes.map((dims, i) => operand(shapes.length > 1 && constant[i] === true, dims)),
    }),
  );
  await checkRule(einsum, cases, { axes: [0, 1, 2, 3], numRuns: 60 });
});

test('Einsum with an ellipsis or a diagonal is not divided', async () => {
  const operators = [
    { opType: 'Einsum', attributes: { equation: text('...ij->...ji') }, inputs: [activation([2, 3, 4])] },
    { opType: 'Einsum', attributes: { equation: text('ii->i') }, inputs: [activation([3, 3])] },
  ];
  expect((await checkParts(einsum, operators)).axes.size).toBe(0);
});

test('integer products, per tensor and per row or column', async () => {
  const bytes = (dims: readonly number[]) => fixed(random(dims, 'uint8'));
  const scales = (count: number) =>
    fixed(
      float32Tensor(
        count === 0 ? [] : [count],
        Array.from({ length: count || 1 }, (_, i) => 0.1 + i / 20),
      ),
    );
  const sizes = fc.tuple(length, length, length, fc.boolean(), fc.boolean());
  await checkRule(
    matMulInteger,
    sizes.map(([m, k, n, perColumn, constant]) => ({
      opType: 'MatMulInteger',
      attributes: {},
      outputType: 'int32' as const,
      inputs: [
        activation([2, m, k], 'uint8'),
        constant ? bytes([k, n]) : activation([k, n], 'uint8'),
        bytes([]),
        bytes(perColumn ? [n] : []),
      ],
    })),
    { axes: [1, 2] },
  );
  await checkRule(
    qLinearMatMul,
    sizes.map(([m, k, n, perColumn, constant]) => ({
      opType: 'QLinearMatMul',
      attributes: {},
      inputs: [
        activation([2, m, k], 'uint8'),
        floats(0.1),
        bytes([1]),
        constant ? bytes([k, n]) : activation([k, n], 'uint8'),
        scales(perColumn ? n : 0),
        bytes(perColumn ? [n] : []),
        floats(0.2),
        bytes([1]),
      ],
    })),
    { axes: [1, 2] },
  );
});
