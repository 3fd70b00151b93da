import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import { unlistedNames } from '../../protocol/plan.ts';
import { readCheckpoint, writeCheckpoint } from './checkpoint.ts';

const arrays = fc.dictionary(
  fc.string().filter((name) => name !== '__metadata__' && !unlistedNames.has(name)),
  fc.oneof(
    fc.array(fc.float({ noNaN: true }), { maxLength: 20 }).map((list) => Float32Array.from(list)),
    fc.uint8Array({ maxLength: 20 }),
  ),
);

test('a checkpoint comes back as it was written', () => {
  fc.assert(
    fc.property(arrays, fc.double({ noNaN: true }), (written, number) => {
      const state = { arrays: new Map(Object.entries(written)), numbers: new Map([['step', number]]) };
      const read = readCheckpoint(writeCheckpoint(state));
      expect(new Map([...read.arrays].sort())).toEqual(new Map([...state.arrays].sort()));
      expect(read.numbers.get('step')).toBe(Object.is(number, -0) ? 0 : number);
    }),
    { numRuns: 100 },
  );
});

test('a name that would be lost on reading is refused on writing', () => {
  for (const name of unlistedNames) {
    const state = { arrays: new Map([[name, Float32Array.of(1)]]), numbers: new Map() };
    expect(() => writeCheckpoint(state)).toThrow(StarlingError);
  }
});

test('bytes that are no checkpoint are refused with a sentence', () => {
  const good = writeCheckpoint({ arrays: new Map([['a', Float32Array.of(1, 2)]]), numbers: new Map() });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.nat(good.length - 1).map((length) => good.slice(0, length)),
      ),
      (bytes) => {
        try {
          readCheckpoint(bytes);
          return false;
        } catch (thrown) {
          return thrown instanceof StarlingError && thrown.code === 'FILE_UNREADABLE';
        }
      },
    ),
    { numRuns: 200 },
  );
});
