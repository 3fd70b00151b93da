import { expect, test } from 'vitest';
import type { Budget } from './budget.ts';
import { type ExchangeCost, fitBudget } from './fitBudget.ts';
import type { Candidate } from './scores.ts';

/** Ten features of 10 bytes; 35 bytes and one round cross whatever is chosen. */
const all: readonly Candidate[] = Array.from({ length: 10 }, (_, channel) => ({
  feature: { value: 'v', channel, owner: 0 },
  reader: 1,
  score: 10 - channel,
}));
const choose = ({ bytes = Number.POSITIVE_INFINITY, rounds = 2 }: Budget) =>
  rounds < 1 ? [] : all.slice(0, Math.floor(bytes / 10));
const costOf = (chosen: readonly Candidate[]): ExchangeCost => ({
  bytes: 35 + 10 * chosen.length,
  rounds: chosen.length > 0 ? 2 : 1,
  values: ['pooled'],
});

test('what crosses anyhow counts', () => {
  expect(fitBudget({ bytes: 75 }, choose, costOf)).toHaveLength(4);
  expect(fitBudget({ bytes: 35 }, choose, costOf)).toHaveLength(0);
  expect(fitBudget({ bytes: 1000 }, choose, costOf)).toHaveLength(10);
  expect(fitBudget({ rounds: 1 }, choose, costOf)).toHaveLength(0);
});

test('a budget that cannot be met names the nearest', () => {
  expect(() => fitBudget({ bytes: 34 }, choose, costOf)).toThrow(
    /34 bytes cannot be met.*"pooled".*nearest is 35 bytes/,
  );
  expect(() => fitBudget({ rounds: 0 }, choose, costOf)).toThrow(/nearest is 1 rounds/);
  const latency = { ms: 1, bytesPerMs: 35, roundTripMs: 2 };
  expect(() => fitBudget({ latency }, choose, costOf)).toThrow(/nearest is 3 ms/);
});

test('a kept ratio is never lowered: it costs nothing to hold', () => {
  const never = () => {
    throw new Error('There is nothing to hold it against.');
  };
  expect(fitBudget({ keep: 1 }, choose, never)).toHaveLength(10);
});
