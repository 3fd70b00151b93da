import { expect, test } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import { type Budget, spend } from './budget.ts';
import type { Candidate } from './scores.ts';

/** Three rounds: the first with large features, the last with small ones; scores fall within a round. */
const candidates: readonly Candidate[] = [0, 1, 2].flatMap((round) =>
  Array.from({ length: 4 }, (_, channel) => ({
    feature: { value: `v${round}`, channel, owner: 0 },
    reader: 1,
    score: (4 - channel) * ([1, 0.6, 0.5][round] ?? 0),
  })),
);
const roundOf = ({ feature }: Candidate) => Number(feature.value.slice(1));
const bytesOf = (candidate: Candidate) => [400, 100, 10][roundOf(candidate)] ?? 0;
const choose = (budget: Budget) => spend(candidates, budget, bytesOf, roundOf);
const names = (list: readonly Candidate[]) =>
  list.map(({ feature }) => `${feature.value}.${feature.channel}`).sort();
const bytes = (list: readonly Candidate[]) => list.reduce((sum, candidate) => sum + bytesOf(candidate), 0);

test('a kept ratio is one of bytes', () => {
  // 2,040 bytes in all: of the large features one fits beside all others.
  expect(names(choose({ keep: 0.42 }))).toEqual([
    'v0.0',
    ...['v1.0', 'v1.1', 'v1.2', 'v1.3', 'v2.0', 'v2.1', 'v2.2', 'v2.3'],
  ]);
  expect(names(choose({ keep: 240 / 2040 }))).toEqual(names(choose({ bytes: 240 })));
  expect(choose({ keep: 0 })).toEqual([]);
  expect(choose({ keep: 1 })).toHaveLength(candidates.length);
  expect(choose({})).toHaveLength(candidates.length);
});

test('bytes take those of the highest scores for their size', () => {
  const chosen = choose({ bytes: 240 });
  expect(names(chosen)).toEqual(['v1.0', 'v1.1', 'v2.0', 'v2.1', 'v2.2', 'v2.3']);
  expect(bytes(chosen)).toBeLessThanOrEqual(240);
});

test('rounds empty whole exchanges and leave the rest dense', () => {
  const chosen = choose({ rounds: 2 });
  expect(new Set(chosen.map(roundOf))).toEqual(new Set([0, 1]));
  expect(chosen).toHaveLength(8);
  expect(names(choose({ rounds: 2, keep: 0.25 }))).toEqual(['v1.0', 'v1.1', 'v1.2', 'v1.3']);
});

test('on a slow round trip a round goes before its features do', () => {
  const slowTrips = choose({ latency: { ms: 30, bytesPerMs: 1000, roundTripMs: 20 } });
  expect(new Set(slowTrips.map(roundOf)).size).toBe(1);
  const slowBytes = choose({ latency: { ms: 30, bytesPerMs: 10, roundTripMs: 1 } });
  expect(new Set(slowBytes.map(roundOf))).toEqual(new Set([1, 2]));
  for (const [list, rate, trip] of [
    [slowTrips, 1000, 20],
    [slowBytes, 10, 1],
  ] as const) {
    expect(bytes(list) / rate + trip * new Set(list.map(roundOf)).size).toBeLessThanOrEqual(30);
  }
});

test('no feature that is left out would fit, and a larger budget is worth more', () => {
  const score = (list: readonly Candidate[]) => list.reduce((sum, candidate) => sum + candidate.score, 0);
  const total = bytes(candidates);
  let before = 0;
  for (let twentieths = 1; twentieths <= 20; twentieths++) {
    const chosen = choose({ keep: twentieths / 20 });
    const left = (twentieths / 20) * total - bytes(chosen);
    expect(left).toBeGreaterThanOrEqual(-1e-6);
    for (const candidate of candidates)
      if (!chosen.includes(candidate)) expect(bytesOf(candidate)).toBeGreaterThan(left);
    expect(score(chosen)).toBeGreaterThanOrEqual(before);
    before = score(chosen);
  }
});

test.each([{ keep: 1.5 }, { keep: Number.NaN }, { bytes: -1 }, { rounds: -1 }])('refuses %o', (budget) => {
  expect(() => choose(budget)).toThrow(StarlingError);
});
