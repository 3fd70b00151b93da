/** Operators that are alike along some axes: reductions, normalisations, quantisation. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  activation,
  fixed,
  indices,
  int,
  ints,
  type OperatorCase,
  present,
  random,
  weight,
} from '../../tests/support/operatorCase.ts';
import { checkParts, checkRule } from '../../tests/support/partCheck.ts';
import { float32Tensor, int64Tensor } from '../tensor.ts';
import {
  batchNormalization,
  instanceNormalization,
  layerNormalization,
  lpNormalization,
  lrn,
  meanVarianceNormalization,
} from './normalization.ts';
import { quantizeLinear } from './quantize.ts';
import { argReduce, cumSum, reduce, softmax, trilu } from './reduce.ts';

const shape = [2, 3, 4, 5];
const axis = fc.integer({ min: -4, max: 3 });
const positive = (dims: readonly number[], constant: boolean) => {
  const count = dims.reduce((product, dim) => product * dim, 1);
  const tensor = float32Tensor(
    dims,
    Array.from({ length: count }, (_, i) => 0.5 + (i % 7) / 5),
  );
  return constant ? fixed(tensor) : { tensor, constant: false };
};

test('Softmax, LogSoftmax and Hardmax', async () => {
  const cases = fc.tuple(fc.constantFrom('Softmax', 'LogSoftmax', 'Hardmax'), axis).map(([opType, at]) => ({
    opType,
    attributes: { axis: int(at) },
    inputs: [activation(shape)],
  }));
  await checkRule(softmax, cases, { axes: [0, 1, 2, 3] });
});

test('softmax is not divided along its own axis', async () => {
  const operator = { opType: 'Softmax', attributes: {}, inputs: [activation([1, 2, 3])] };
  expect([...(await checkParts(softmax, [operator])).axes.keys()]).toEqual([0, 1]);
});

test('reductions', async () => {
  const operators = ['ReduceMean', 'ReduceMax', 'ReduceL2', 'ReduceLogSumExp', 'ReduceSumSquare'];
  const cases = fc
    .record({
      opType: fc.constantFrom(...operators, 'ReduceSum'),
      axes: fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 }),
      keep: fc.constantFrom(null, 0, 1),
      given: fc.constantFrom(true, true, true, false),
      identity: fc.boolean(),
    })
    .map(({ opType, axes, keep, given, identity }): OperatorCase => {
      const sum = opType === 'ReduceSum';
      return {
        opType,
        attributes: present({
          keepdims: keep === null ? undefined : int(keep),
          axes: sum || !given ? undefined : ints(...axes),
          noop_with_empty_axes: sum && identity ? int(1) : undefined,
        }),
        inputs: [activation(shape), ...(sum && given ? [indices(axes)] : [])],
      };
    });
  await checkRule(reduce, cases, { axes: [0, 1, 2, 3], numRuns: 60 });
});

test('ArgMax and ArgMin', async () => {
  const cases = fc.tuple(fc.constantFrom('ArgMax', 'ArgMin'), axis, fc.constantFrom(0, 1)).map(
    ([opType, at, keep]): OperatorCase => ({
      opType,
      attributes: { axis: int(at), keepdims: int(keep) },
      inputs: [activation(shape)],
      outputType: 'int64',
    }),
  );
  await checkRule(argReduce, cases, { axes: [0, 1, 2, 3] });
});

test('CumSum and Trilu', async () => {
  const sums = fc.tuple(axis, fc.boolean()).map(([at, reverse]) => ({
    opType: 'CumSum',
    attributes: present({ reverse: reverse ? int(1) : undefined }),
    inputs: [activation(shape), fixed(int64Tensor([at], []))],
  }));
  await checkRule(cumSum, sums, { axes: [0, 1, 2, 3] });
  const triangle = { opType: 'Trilu', attributes: {}, inputs: [activation(shape)] };
  await checkRule(trilu, fc.constant(triangle), { axes: [0, 1], numRuns: 1 });
});

test('normalisations', async () => {
  const constant = fc.boolean();
  const batch = constant.map((fixedParameters) => ({
    opType: 'BatchNormalization',
    attributes: {},
    inputs: [activation(shape), ...[0, 1, 2, 3].map(() => positive([3], fixedParameters))],
  }));
  await checkRule(batchNormalization, batch, { axes: [1, 2, 3], numRuns: 4 });
  const instance = constant.map((fixedParameters) => ({
    opType: 'InstanceNormalization',
    attributes: {},
    inputs: [activation(shape), positive([3], fixedParameters), positive([3], fixedParameters)],
  }));
  await checkRule(instanceNormalization, instance, { axes: [0, 1], numRuns: 4 });
  const layer = fc.tuple(fc.constantFrom(-1, 2, 1), constant).map(([at, fixedParameters]) => {
    const dims = shape.slice(at);
    const parameters = [positive(dims, fixedParameters), at === 1 ? null : positive(dims, fixedParameters)];
    return {
      opType: 'LayerNormalization',
      attributes: { axis: int(at) },
      inputs: [activation(shape), ...parameters],
    };
  });
  await checkRule(layerNormalization, layer, { axes: [0, 1, 2], numRuns: 8 });
  const lp = fc.tuple(axis, fc.constantFrom(1, 2)).map(([at, p]) => ({
    opType: 'LpNormalization',
    attributes: { axis: int(at), p: int(p) },
    inputs: [activation(shape)],
  }));
  await checkRule(lpNormalization, lp, { axes: [0, 1, 2, 3] });
  const moments = fc.constantFrom(null, [0, 2, 3], [1, 2, 3]).map((axes) => ({
    opType: 'MeanVarianceNormalization',
    attributes: present({ axes: axes === null ? undefined : ints(...axes) }),
    inputs: [activation(shape)],
  }));
  await checkRule(meanVarianceNormalization, moments, { axes: [0, 1], numRuns: 4 });
});

test('LRN with a halo of channels', async () => {
  const cases = fc.constantFrom(1, 3, 5).map((size) => ({
    opType: 'LRN',
    attributes: { size: int(size) },
    inputs: [activation([1, 9, 3, 2])],
  }));
  await checkRule(lrn, cases, { axes: [1, 2, 3] });
});

test('QuantizeLinear and DequantizeLinear, per tensor and per channel', async () => {
  const cases = fc
    .tuple(fc.boolean(), fc.constantFrom(null, 1, 2, -1))
    .map(([quantize, at]): OperatorCase => {
      const length = at === null ? 1 : (shape.at(at) ?? 1);
      const dims = at === null ? [] : [length];
      const point = fixed(random(dims, 'uint8'));
      return {
        opType: quantize ? 'QuantizeLinear' : 'DequantizeLinear',
        attributes: present({ axis: at === null ? undefined : int(at) }),
        inputs: [activation(shape, quantize ? 'float32' : 'uint8'), positive(dims, true), point],
        outputType: quantize ? 'uint8' : 'float32',
      };
    });
  await checkRule(quantizeLinear, cases, { axes: [0, 1, 2, 3], numRuns: 40 });
});

test('layer normalisation is not divided along the axis it normalises', async () => {
  const operator: OperatorCase = {
    opType: 'LayerNormalization',
    attributes: {},
    inputs: [activation([1, 4, 6]), weight([6]), weight([6])],
  };
  expect([...(await checkParts(layerNormalization, [operator])).axes.keys()]).toEqual([0, 1]);
});
