/** The same ratio in every exchange: what a global budget is held against. */
import { type Candidate, candidateKey } from './scores.ts';

/** `count` features, of each exchange and reader an equal share, the best first. */
export function uniformly(candidates: readonly Candidate[], count: number): readonly Candidate[] {
  const exchanges = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const key = `${candidate.reader} ${candidate.feature.value}`;
    exchanges.set(key, [...(exchanges.get(key) ?? []), candidate]);
  }
  const shares = new Map<string, number>();
  for (const list of exchanges.values()) {
    for (const [i, { feature, reader }] of list.toSorted((a, b) => b.score - a.score).entries())
      shares.set(candidateKey(feature, reader), (i + 0.5) / list.length);
  }
  const shareOf = ({ feature, reader }: Candidate) => shares.get(candidateKey(feature, reader)) ?? 1;
  return candidates.toSorted((a, b) => shareOf(a) - shareOf(b)).slice(0, count);
}
