/** Operators that repeat their input or read it by index. */
import fc from 'fast-check';
import { test } from 'vitest';
import { activation, indices, int, type OperatorCase, weight } from '../../tests/support/operatorCase.ts';
import { checkRule } from '../../tests/support/partCheck.ts';
import { gather, gatherElements, gatherNd, gridSample } from './gather.ts';
import { expand, tile } from './repeat.ts';

test('Expand and Tile', async () => {
  const pairs: readonly (readonly [readonly number[], readonly number[]])[] = [
    [[1, 3, 1, 4], [2, 3, 5, 4]],
    [[3, 1], [2, 1, 4]],
    [[1, 1, 6], [1, 4, 6]],
  ]; // biome-ignore format: a table
  const expands = fc.tuple(fc.constantFrom(...pairs), fc.boolean()).map(([[from, to], constant]) => ({
    opType: 'Expand',
    attributes: {},
    inputs: [(constant ? weight : activation)(from), indices(to)],
  }));
  await checkRule(expand, expands, { axes: [0, 1, 2, 3], numRuns: 12 });
  const tiles = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 3, maxLength: 3 }).map((repeats) => ({
    opType: 'Tile',
    attributes: {},
    inputs: [activation([2, 3, 4]), indices(repeats)],
  }));
  await checkRule(tile, tiles, { axes: [0, 1, 2] });
});

test('Gather by constant and by computed indices', async () => {
  const cases = fc
    .record({
      axis: fc.integer({ min: -3, max: 2 }),
      dims: fc.constantFrom<readonly number[]>([], [1], [4], [2, 3]),
      data: fc.boolean(),
      chosen: fc.boolean(),
      seed: fc.array(fc.integer({ min: -3, max: 2 }), { minLength: 6, maxLength: 6 }),
    })
    .map(({ axis, dims, data, chosen, seed }): OperatorCase => {
      const count = dims.reduce((product, dim) => product * dim, 1);
      const index = indices(seed.slice(0, count), dims);
      return {
        opType: 'Gather',
        attributes: { axis: int(axis) },
        inputs: [(data ? weight : activation)([3, 4, 5]), { ...index, constant: chosen && !data }],
      };
    });
  await checkRule(gather, cases, { axes: [0, 1, 2, 3], numRuns: 60 });
});

test('GatherElements, GatherND and GridSample', async () => {
  const computed = (values: readonly number[], dims: readonly number[]) => ({
    ...indices(values, dims),
    constant: false,
  });
  const elements = fc.tuple(fc.constantFrom(0, 1, 2), fc.boolean()).map(([axis, constant]) => {
    const index = computed(
      Array.from({ length: 24 }, (_, i) => (i * 7) % 2),
      [2, 3, 4],
    );
    return {
      opType: 'GatherElements',
      attributes: { axis: int(axis) },
      inputs: [activation([2, 3, 4]), { ...index, constant }],
    };
  });
  await checkRule(gatherElements, elements, { axes: [0, 1, 2], numRuns: 8 });
  const nd = fc.constantFrom<OperatorCase>(
    {
      opType: 'GatherND',
      attributes: {},
      inputs: [activation([2, 3, 4]), computed([0, 1, 1, 2, 1, 0], [3, 2])],
    },
    {
      opType: 'GatherND',
      attributes: { batch_dims: int(1) },
      inputs: [activation([2, 3, 4]), computed([1, 2, 0, 1], [2, 2, 1])],
    },
  );
  await checkRule(gatherNd, nd, { axes: [0, 1, 2], numRuns: 4 });
  const grids = fc.boolean().map((constant) => ({
    opType: 'GridSample',
    attributes: {},
    inputs: [activation([1, 3, 4, 5]), (constant ? weight : activation)([1, 6, 7, 2])],
  }));
  await checkRule(gridSample, grids, { axes: [1, 2, 3], numRuns: 4 });
});
