/** The baseline of a global budget: the same ratio in every exchange. */
import type { Candidate } from '../../compiler/select/scores.ts';

/** The best features of each exchange, for each reader. */
export function uniformly(candidates: readonly Candidate[], keep: number): readonly Candidate[] {
  const exchanges = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const key = `${candidate.reader} ${candidate.feature.value}`;
    const list = exchanges.get(key) ?? [];
    exchanges.set(key, list);
    list.push(candidate);
  }
  return [...exchanges.values()].flatMap((list) =>
    list.toSorted((a, b) => b.score - a.score).slice(0, Math.round(keep * list.length)),
  );
}
