import fc from 'fast-check';
import { test } from 'vitest';
import { activation, fixed, float, type OperatorCase, weight } from '../../tests/support/operatorCase.ts';
import { checkRule } from '../../tests/support/partCheck.ts';
import { float32Tensor } from '../tensor.ts';
import { elementwise } from './elementwise.ts';
import { ruledOperators, ruleOf } from './rules.ts';

const unary = [
  'Abs', 'Celu', 'Elu', 'Erf', 'Exp', 'HardSigmoid', 'HardSwish', 'LeakyRelu', 'Neg', 'Relu', 'Selu', 'Shrink',
  'Sigmoid', 'Softplus', 'Softsign', 'Tanh', 'ThresholdedRelu',
]; // biome-ignore format: a table

const binary = ['Add', 'Mul', 'Sub', 'Max', 'Min', 'Sum', 'Mean', 'PRelu', 'Greater', 'LessOrEqual'];
const booleans = ['Greater', 'LessOrEqual'];

/** Shapes that broadcast to [2, 3, 4, 5] from the second operand. */
const seconds = fc.constantFrom([2, 3, 4, 5], [3, 1, 1], [4, 5], [5], [], [1, 3, 1, 5]);

const binaryCases = fc
  .tuple(fc.constantFrom(...binary), seconds, fc.boolean())
  .map(([opType, dims, constant]): OperatorCase => {
    const second = constant ? weight(dims) : activation(dims);
    const operator = { opType, attributes: {}, inputs: [activation([2, 3, 4, 5]), second] };
    return booleans.includes(opType) ? { ...operator, outputType: 'bool' } : operator;
  });

test('functions of one value', async () => {
  const cases = fc.constantFrom(...unary).map((opType): OperatorCase => {
    const attributes = opType === 'Celu' ? { alpha: float(0.7) } : {};
    return { opType, attributes, inputs: [activation([1, 3, 4, 5])] };
  });
  await checkRule(elementwise, cases, { axes: [1, 2, 3], numRuns: 40 });
});

test('two values with broadcasting', async () => {
  await checkRule(elementwise, binaryCases, { axes: [0, 1, 2, 3], numRuns: 60 });
});

test('both operands broadcast', async () => {
  const cases = fc.constantFrom('Add', 'Mul').map((opType) => ({
    opType,
    attributes: {},
    inputs: [activation([1, 3, 1, 5]), activation([4, 1])],
  }));
  await checkRule(elementwise, cases, { axes: [1, 2, 3], numRuns: 2 });
});

test('Where and Clip', async () => {
  const cases = fc.tuple(seconds, fc.boolean()).map(([dims, where]): OperatorCase => {
    if (where) {
      const inputs = [activation(dims, 'bool'), activation([2, 3, 4, 5]), weight([3, 1, 1])];
      return { opType: 'Where', attributes: {}, inputs, outputType: 'float32' };
    }
    const limit = (value: number) => fixed(float32Tensor([], [value]));
    return { opType: 'Clip', attributes: {}, inputs: [activation([2, 3, 4, 5]), limit(-0.5), limit(0.5)] };
  });
  await checkRule(elementwise, cases, { axes: [1, 2, 3] });
});

test('every operator of the table has a rule with a description', () => {
  for (const opType of ruledOperators()) {
    const node = { name: 'n', opType, domain: '', inputs: ['x'], outputs: ['y'], attributes: new Map() };
    const doc = ruleOf(node)?.doc;
    if (doc === undefined || doc.channels === '' || doc.rows === '')
      throw new Error(`${opType} says nothing.`);
  }
});
