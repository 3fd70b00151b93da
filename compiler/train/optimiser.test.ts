import { expect, test } from 'vitest';
import { type OptimiserOptions, optimiserStep } from './optimiser.ts';
import type { Parameter } from './parameters.ts';

function parameter(dims: readonly number[], value: readonly number[], mask?: readonly number[]): Parameter {
  return {
    dims,
    value: Float32Array.from(value),
    velocity: new Float32Array(value.length),
    mask: mask === undefined ? undefined : Uint8Array.from(mask),
  };
}

const plain = { type: 'sgd', momentum: 0, weightDecay: 0, clipNorm: Number.POSITIVE_INFINITY } as const;

const sgdStep = (
  parameters: ReadonlyMap<string, Parameter>,
  gradients: ReadonlyMap<string, Float32Array>,
  rate: number,
  options: OptimiserOptions,
) => optimiserStep(parameters, gradients, rate, options, 0);

test('Nesterov momentum follows its formula over two steps', () => {
  const weight = parameter([1], [1]);
  const step = (gradient: number) =>
    sgdStep(new Map([['w', weight]]), new Map([['w', Float32Array.of(gradient)]]), 0.1, {
      ...plain,
      momentum: 0.5,
    });
  step(2);
  // v = 2; w = 1 - 0.1 (2 + 0.5 * 2)
  expect(weight.value[0]).toBeCloseTo(0.7, 6);
  step(-1);
  // v = 0.5 * 2 - 1 = 0; w = 0.7 - 0.1 (-1 + 0)
  expect(weight.value[0]).toBeCloseTo(0.8, 6);
});

test('weight decay leaves biases alone, and the common norm is clipped', () => {
  const [matrix, bias] = [parameter([1, 1], [10]), parameter([1], [10])];
  const parameters = new Map([
    ['matrix', matrix],
    ['bias', bias],
  ]);
  const gradients = new Map([
    ['matrix', Float32Array.of(3)],
    ['bias', Float32Array.of(4)],
  ]);
  expect(sgdStep(parameters, gradients, 1, { ...plain, weightDecay: 0.1, clipNorm: 1 })).toBeCloseTo(5, 6);
  expect(matrix.value[0]).toBeCloseTo(10 - 0.6 - 1, 5);
  expect(bias.value[0]).toBeCloseTo(10 - 0.8, 5);
});

test('what a mask removes neither moves nor counts in the norm; a broken batch changes nothing', () => {
  const weight = parameter([2, 1], [1, 1], [1, 0]);
  const parameters = new Map([['w', weight]]);
  const settings = { ...plain, momentum: 0.9, weightDecay: 0.1 };
  expect(sgdStep(parameters, new Map([['w', Float32Array.of(3, 400)]]), 0.1, settings)).toBeCloseTo(3, 6);
  expect(weight.value[1]).toBe(1);
  const before = weight.value.slice();
  expect(sgdStep(parameters, new Map([['w', Float32Array.of(Number.NaN, 0)]]), 0.1, settings)).toBeNaN();
  expect(weight.value).toEqual(before);
});

test('AdamW moves by the rate at first, whatever the size of the gradient, and decays apart from it', () => {
  const weight = { ...parameter([2, 1], [1, 1]), square: new Float32Array(2) };
  const options = { type: 'adamw', weightDecay: 0.5, clipNorm: Number.POSITIVE_INFINITY } as const;
  const step = (at: number, ...gradient: number[]) =>
    optimiserStep(new Map([['w', weight]]), new Map([['w', Float32Array.from(gradient)]]), 0.1, options, at);
  step(0, 5, -0.01);
  expect(weight.value[0]).toBeCloseTo(1 - 0.1 * 1.5, 5);
  expect(weight.value[1]).toBeCloseTo(1 + 0.1 * 0.5, 5);
  const [before = 0] = weight.value;
  step(1, -5, 0);
  // Means: (0.9 * 0.5 - 0.5) / 0.19, squares: 25.
  expect(weight.value[0]).toBeCloseTo(before - 0.1 * (-0.05 / 0.19 / 5 + 0.5 * before), 5);
});
