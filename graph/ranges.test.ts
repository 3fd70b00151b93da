import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromIndices, type Ranges, size, toIndices, union } from './ranges.ts';

const sets = fc.array(fc.array(fc.integer({ min: 0, max: 30 })).map(fromIndices), { maxLength: 4 });

test('a union has the indices of all, in sorted, disjoint ranges that do not touch', () => {
  fc.assert(
    fc.property(sets, (all: readonly Ranges[]) => {
      const joined = union(...all);
      const indices = [...new Set(all.flatMap(toIndices))].sort((a, b) => a - b);
      expect(toIndices(joined)).toEqual(indices);
      expect(size(joined)).toBe(indices.length);
      for (const [i, [start]] of joined.entries()) expect(start).toBeGreaterThan(joined[i - 1]?.[1] ?? -1);
    }),
  );
});
