/** Operators that only move data: their parts are made of parts, whichever axis they lie along. */
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
  text,
  weight,
} from '../../tests/support/operatorCase.ts';
import { checkParts, checkRule } from '../../tests/support/partCheck.ts';
import { float32Tensor } from '../tensor.ts';
import { depthToSpace, spaceToDepth } from './blocks.ts';
import { concat } from './concat.ts';
import { pad } from './pad.ts';
import { reshape } from './reshape.ts';
import { slice } from './slice.ts';
import { transpose } from './transpose.ts';

test('Concat of computed and constant inputs', async () => {
  const cases = fc
    .tuple(
      fc.integer({ min: -4, max: 3 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.boolean()), { minLength: 1, maxLength: 4 }),
    )
    .map(([axis, pieces]): OperatorCase => {
      const dims = (length: number) => [2, 3, 4, 3].map((dim, i) => (i === (axis + 4) % 4 ? length : dim));
      const others = pieces.map(([length, constant]) => (constant ? weight : activation)(dims(length)));
      return { opType: 'Concat', attributes: { axis: int(axis) }, inputs: [activation(dims(2)), ...others] };
    });
  await checkRule(concat, cases, { axes: [0, 1, 2, 3], numRuns: 40 });
});

test('Slice with any limits and steps', async () => {
  const cut = fc.record({
    axis: fc.integer({ min: 0, max: 3 }),
    start: fc.integer({ min: 0, max: 2 }),
    length: fc.integer({ min: 1, max: 6 }),
    step: fc.constantFrom(1, 2, 3, -1, -2),
    fromEnd: fc.boolean(),
    open: fc.boolean(),
  });
  const shape = [3, 6, 7, 5];
  const cases = fc
    .uniqueArray(cut, { selector: ({ axis }) => axis, minLength: 1, maxLength: 3 })
    .map((cuts) => {
      const limits = cuts.map(({ axis, start, length, step, fromEnd, open }) => {
        const size = shape[axis] ?? 1;
        const first = step > 0 ? start : size - 1 - start;
        const last = step > 0 ? first + length : first - length;
        const end = open ? (step > 0 ? 2 ** 40 : -(2 ** 40)) : last < 0 ? -size - 1 : last;
        return { axis: fromEnd ? axis - 4 : axis, start: fromEnd ? first - size : first, end, step };
      });
      const column = (pick: (limit: (typeof limits)[number]) => number) => indices(limits.map(pick));
      return {
        opType: 'Slice',
        attributes: {},
        inputs: [
          activation(shape),
          column((c) => c.start),
          column((c) => c.end),
          column((c) => c.axis),
          column((c) => c.step),
        ],
      };
    });
  await checkRule(slice, cases, { axes: [0, 1, 2, 3], numRuns: 80 });
});

test('Slice with limits that are computed is not divided', async () => {
  const limit = { ...indices([1]), constant: false };
  const operator = {
    opType: 'Slice',
    attributes: {},
    inputs: [activation([3, 4]), limit, indices([3]), indices([1])],
  };
  expect((await checkParts(slice, [operator])).axes.size).toBe(0);
});

test('Pad in all modes, cropping too', async () => {
  const cases = fc
    .tuple(
      fc.constantFrom('constant', 'constant', 'reflect', 'edge'),
      fc.array(fc.integer({ min: -1, max: 3 }), { minLength: 8, maxLength: 8 }),
      fc.constantFrom('none', 'constant', 'computed'),
    )
    .map(([mode, amounts, value]): OperatorCase => {
      // Cropping is for constant padding; the batch axis is rarely padded.
      const pads = amounts.map((amount, i) =>
        i % 4 === 0 ? 0 : mode === 'constant' ? amount : Math.max(0, amount),
      );
      const scalar = float32Tensor([], [0.5]);
      const values = { none: [], constant: [fixed(scalar)], computed: [{ tensor: scalar, constant: false }] };
      return {
        opType: 'Pad',
        attributes: { mode: text(mode) },
        inputs: [activation([1, 5, 6, 4]), indices(pads), ...(mode === 'constant' ? values[value] : [])],
      };
    });
  await checkRule(pad, cases, { axes: [1, 2, 3], numRuns: 80 });
});

test('Transpose', async () => {
  const cases = fc.constantFrom(null, [0, 2, 3, 1], [0, 3, 1, 2], [3, 2, 0, 1]).map((perm) => ({
    opType: 'Transpose',
    attributes: present({ perm: perm === null ? undefined : ints(...perm) }),
    inputs: [activation([2, 3, 4, 5])],
  }));
  await checkRule(transpose, cases, { axes: [0, 1, 2, 3], numRuns: 8 });
});

test('DepthToSpace and SpaceToDepth', async () => {
  const deep = fc.tuple(fc.constantFrom(2, 3), fc.constantFrom('DCR', 'CRD')).map(([blocksize, mode]) => ({
    opType: 'DepthToSpace',
    attributes: { blocksize: int(blocksize), mode: text(mode) },
    inputs: [activation([1, 3 * blocksize ** 2, 4, 3])],
  }));
  await checkRule(depthToSpace, deep, { axes: [1, 2, 3], numRuns: 12 });
  const flat = fc.constantFrom(2, 3).map((blocksize) => ({
    opType: 'SpaceToDepth',
    attributes: { blocksize: int(blocksize) },
    inputs: [activation([1, 3, 4 * blocksize, 3 * blocksize])],
  }));
  await checkRule(spaceToDepth, flat, { axes: [1, 2, 3], numRuns: 8 });
});

/** From, to. */
const shapes: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[1, 12, 4, 3], [1, 3, 4, 4, 3]],
  [[1, 3, 4, 4, 3], [1, 12, 4, 3]],
  [[2, 6, 4, 3], [2, 6, 12]],
  [[2, 6, 12], [2, 6, 4, 3]],
  [[1, 5, 24], [1, 5, 3, 2, 4]],
  [[1, 5, 2, 4], [1, 5, 8]],
  [[2, 3, 4], [6, 4]],
  [[2, 3, 4], [24]],
  [[24], [2, 3, 4]],
  [[6, 4], [4, 6]],
  [[1, 4, 6], [4, 6]],
  [[2, 8, 3, 3], [2, 72]],
]; // biome-ignore format: a table

test('Reshape that splits, merges and keeps axes', async () => {
  const cases = fc.constantFrom(...shapes).map(([from, to]) => ({
    opType: 'Reshape',
    attributes: {},
    inputs: [activation(from), indices(to)],
  }));
  await checkRule(reshape, cases, { axes: [0, 1, 2, 3, 4], numRuns: 40 });
});

test('the middle axes of a split are runs of channels', async () => {
  const split = {
    opType: 'Reshape',
    attributes: {},
    inputs: [activation([1, 12, 4]), indices([1, 3, 4, 4])],
  };
  const { axes, failures } = await checkParts(reshape, [split]);
  expect(failures).toEqual([]);
  expect([...axes.keys()]).toContain(2);
});

test('Flatten, Squeeze and Unsqueeze', async () => {
  const cases = fc.constantFrom<OperatorCase>(
    { opType: 'Flatten', attributes: { axis: int(1) }, inputs: [activation([2, 3, 4, 2])] },
    { opType: 'Flatten', attributes: { axis: int(2) }, inputs: [activation([2, 3, 4, 2])] },
    { opType: 'Squeeze', attributes: {}, inputs: [activation([2, 3, 1, 1]), indices([2, 3])] },
    { opType: 'Unsqueeze', attributes: {}, inputs: [activation([2, 3, 4]), indices([1])] },
  );
  await checkRule(reshape, cases, { axes: [1, 2, 3], numRuns: 8 });
});
