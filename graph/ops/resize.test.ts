import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  activation,
  fixed,
  float,
  floats,
  indices,
  int,
  type OperatorCase,
  present,
  random,
  roundings,
  text,
  transformations,
} from '../../tests/support/operatorCase.ts';
import { checkParts, checkRule } from '../../tests/support/partCheck.ts';
import { resize } from './resize.ts';

/** Height and width before and after, or factors. */
const factor = fc.constantFrom(1, 2, 3, 4, 0.5, 1.5, 0.75, 2.5, 1.3);

const cases = (mode: 'nearest' | 'linear' | 'cubic'): fc.Arbitrary<OperatorCase> =>
  fc
    .record({
      transformation: fc.option(fc.constantFrom(...transformations)),
      rounding: fc.option(fc.constantFrom(...roundings)),
      outside: fc.boolean(),
      coefficient: fc.option(fc.constant(-0.5)),
      height: fc.integer({ min: 2, max: 9 }),
      width: fc.integer({ min: 2, max: 6 }),
      factors: fc.tuple(factor, factor),
      bySizes: fc.boolean(),
      newHeight: fc.integer({ min: 2, max: 19 }),
    })
    .map(
      ({ transformation, rounding, outside, coefficient, height, width, factors, bySizes, newHeight }) => ({
        opType: 'Resize',
        attributes: present({
          mode: text(mode),
          coordinate_transformation_mode: transformation === null ? undefined : text(transformation),
          nearest_mode: rounding === null || mode !== 'nearest' ? undefined : text(rounding),
          exclude_outside: outside && mode === 'cubic' ? int(1) : undefined,
          cubic_coeff_a: coefficient === null || mode !== 'cubic' ? undefined : float(coefficient),
        }),
        inputs: [
          activation([1, 3, height, width]),
          null,
          bySizes ? null : floats(1, 1, ...factors),
          ...(bySizes ? [indices([1, 3, newHeight, Math.max(1, Math.floor(width * factors[1]))])] : []),
        ],
      }),
    );

test.each(['nearest', 'linear', 'cubic'] as const)('%s by channels and rows', async (mode) => {
  await checkRule(resize, cases(mode), { axes: [1, 2, 3], numRuns: 150 });
});

test('a strip of a doubled map is the doubled strip', async () => {
  const operator: OperatorCase = {
    opType: 'Resize',
    attributes: {
      mode: text('nearest'),
      coordinate_transformation_mode: text('asymmetric'),
      nearest_mode: text('floor'),
    },
    inputs: [activation([1, 2, 6, 6]), null, floats(1, 1, 2, 2)],
  };
  expect((await checkParts(resize, [operator])).failures).toEqual([]);
});

test('cropping is refused', async () => {
  const operator: OperatorCase = {
    opType: 'Resize',
    attributes: { mode: text('linear'), coordinate_transformation_mode: text('tf_crop_and_resize') },
    inputs: [activation([1, 2, 6, 6]), floats(0, 0, 0, 0, 1, 1, 1, 1), floats(1, 1, 2, 2)],
  };
  expect([...(await checkParts(resize, [operator])).axes.keys()]).not.toContain(2);
});

test('a part by channels is cropped like the whole', async () => {
  const box = [0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9];
  const operator = (limits: readonly number[]): OperatorCase => ({
    opType: 'Resize',
    attributes: { mode: text('linear'), coordinate_transformation_mode: text('tf_crop_and_resize') },
    inputs: [activation([1, 4, 6, 6]), floats(...limits), floats(1, 1, 2, 2)],
  });
  const report = await checkParts(resize, [operator(box)]);
  expect(report.failures).toEqual([]);
  expect(report.axes.get(1)).toBeGreaterThan(0);
  // Cropped along channels it has no parts there.
  expect((await checkParts(resize, [operator(box.with(1, 0.3))])).axes.has(1)).toBe(false);
});

test('factors that are computed leave it whole', async () => {
  const operator: OperatorCase = {
    opType: 'Resize',
    attributes: { mode: text('nearest') },
    inputs: [
      activation([1, 2, 6, 6]),
      null,
      { ...floats(1, 1, 2, 2), constant: false },
      fixed(random([0])),
    ].slice(0, 3),
  };
  expect((await checkParts(resize, [operator])).axes.size).toBe(0);
});
