import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Candidate, equalShares, linkedGroup, sameShares, shareEqually } from './placement.ts';

const linkedTo = (id: string, ...links: string[]): Candidate => ({ id, links, mayStop: false });

const placeShards = (numShards: number, host: string, others: readonly Candidate[]) =>
  shareEqually(numShards, [host, ...linkedGroup(host, others)]);

describe('equal shares of a room', () => {
  it('gives one device everything', () => {
    expect(placeShards(4, 'h', [])).toEqual({ devices: ['h'], shards: [[0, 1, 2, 3]] });
  });

  it('puts the host first and the others by id, in equal contiguous shares', () => {
    const others = [linkedTo('z', 'h', 'a'), linkedTo('a', 'h', 'z')];
    expect(placeShards(4, 'h', others)).toEqual({ devices: ['h', 'a', 'z'], shards: [[0, 1], [2], [3]] });
  });

  it('leaves out who may stop, and who is not linked with all', () => {
    const others = [
      { id: 'a', links: ['h', 'b', 'c'], mayStop: true },
      linkedTo('b', 'h', 'c'),
      linkedTo('c', 'h'),
      linkedTo('d', 'b'),
    ];
    expect(placeShards(4, 'h', others).devices).toEqual(['h', 'b']);
  });

  it('leaves out devices for which no shard is left', () => {
    const others = [linkedTo('a', 'h', 'b'), linkedTo('b', 'h', 'a')];
    expect(placeShards(2, 'h', others)).toEqual({ devices: ['h', 'a'], shards: [[0], [1]] });
  });

  it('compares placements by who holds what', () => {
    const one = placeShards(4, 'h', [linkedTo('a', 'h')]);
    expect(sameShares(one, placeShards(4, 'h', [linkedTo('a', 'h')]))).toBe(true);
    expect(sameShares(one, placeShards(5, 'h', [linkedTo('a', 'h')]))).toBe(false);
    expect(sameShares(one, placeShards(4, 'h', [linkedTo('b', 'h')]))).toBe(false);
  });
});

describe('equalShares', () => {
  it('covers every shard once, contiguously, with lengths that differ by at most one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 32 }), fc.integer({ min: 1, max: 16 }), (numShards, count) => {
        const shares = equalShares(numShards, count);
        expect(shares.flat()).toEqual(Array.from({ length: numShards }, (_, i) => i));
        const lengths = shares.map((share) => share.length);
        expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
