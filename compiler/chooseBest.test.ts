import { expect, test } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { blockNetwork, blockPictures } from '../tests/support/blockNetwork.ts';
import { analyse } from './analyse.ts';
import { chooseBest, judgedSelections, rescoredAt } from './chooseBest.ts';
import type { Budget } from './select/budget.ts';
import { type Candidate, candidateKey } from './select/scores.ts';
import type { SparsifySettings } from './sparsifySettings.ts';
import { choose, within } from './thin.ts';
import { partlyUniform, uniformWithin } from './uniformWithin.ts';

const backend = await createHeapBackend();
const settings: SparsifySettings = { numShards: 2, backend, calibration: blockPictures(256, 32), rows: 2000 };
const analysis = await analyse(await blockNetwork(backend, 8, 3), settings);

const budgets: readonly Budget[] = [
  { keep: 0.2 },
  { bytes: 3000 },
  { latency: { ms: 30, bytesPerMs: 100, roundTripMs: 2 } },
];

test.each(budgets)('%j: every selection holds the budget, and the best comes first', async (budget) => {
  const judged = await judgedSelections(analysis, budget, settings);
  expect(judged.map(({ name }) => name).sort()).toEqual([
    'combinations',
    'dense scores',
    'mixed',
    'mixed combinations',
    'sparse scores',
    'uniform',
  ]);
  for (const { analysis: of, chosen } of judged) {
    expect(within(of, budget)(chosen)).toBe(true);
    expect(new Set(chosen).size).toBe(chosen.length);
  }
  const divergences = judged.map(({ divergence }) => divergence);
  expect(divergences).toEqual(divergences.toSorted((a, b) => a - b));
  expect((await chooseBest(analysis, budget, settings)).chosen).toEqual(judged[0].chosen);
});

test('scores that mislead are not followed: the sparse model itself says what is missing', async () => {
  const misled = {
    ...analysis,
    candidates: analysis.candidates.map((candidate) => ({
      ...candidate,
      score: 1 / (candidate.score + 1e-9),
    })),
  };
  const judged = await judgedSelections(misled, { keep: 0.2 }, settings);
  const of = (name: string) => judged.find((other) => other.name === name)?.divergence ?? Number.NaN;
  expect(of('sparse scores')).toBeLessThan(0.9 * of('dense scores'));
  expect(judged[0].name).not.toBe('dense scores');
  const sparse = judged.find(({ name }) => name === 'sparse scores')?.chosen.map(({ feature }) => feature);
  const again = await rescoredAt(misled, { keep: 0.2 }, settings);
  expect(choose(again, { keep: 0.2 }).map(({ feature }) => feature)).toEqual(sparse);
});

test('nothing and everything are chosen without judging', async () => {
  expect((await chooseBest(analysis, { keep: 0 }, settings)).chosen).toHaveLength(0);
  expect((await chooseBest(analysis, { keep: 1 }, settings)).chosen).toHaveLength(analysis.candidates.length);
});

test('a uniform ratio takes as much of every exchange, the best of each', () => {
  const chosen = uniformWithin(analysis, { keep: 0.5 });
  const exchanges = sharesOf(new Set(chosen));
  expect(exchanges.size).toBeGreaterThan(5);
  for (const { all, taken, least, best } of exchanges.values()) {
    expect(Math.abs(taken - all / 2)).toBeLessThanOrEqual(0.5);
    expect(least).toBeGreaterThanOrEqual(best);
  }
});

test('half of a budget leaves no exchange with less than a quarter', () => {
  const scored = sharesOf(new Set(choose(analysis, { keep: 0.5 })));
  const chosen = partlyUniform(analysis, { keep: 0.5 });
  expect(within(analysis, { keep: 0.5 })(chosen)).toBe(true);
  const shares = [...sharesOf(chosen).values()].map(({ all, taken }) => taken / all);
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.25);
  expect(Math.max(...shares)).toBeGreaterThan(0.5);
  expect(Math.min(...[...scored.values()].map(({ all, taken }) => taken / all))).toBeLessThan(0.25);
});

/** By exchange and reader: features, those taken, the least score that is taken and the best that is not. */
function sharesOf(chosen: Iterable<Candidate>) {
  const keyOf = ({ feature, reader }: Candidate) => candidateKey(feature, reader);
  const keys = new Set([...chosen].map(keyOf));
  const exchanges = new Map<string, { all: number; taken: number; least: number; best: number }>();
  for (const candidate of analysis.candidates) {
    const key = `${candidate.reader} ${candidate.feature.value}`;
    const seen = exchanges.get(key) ?? { all: 0, taken: 0, least: Number.POSITIVE_INFINITY, best: 0 };
    seen.all++;
    if (keys.has(keyOf(candidate))) {
      seen.taken++;
      seen.least = Math.min(seen.least, candidate.score);
    } else seen.best = Math.max(seen.best, candidate.score);
    exchanges.set(key, seen);
  }
  return exchanges;
}
