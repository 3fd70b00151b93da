/** The same ratio in every exchange, as large as a budget allows: what scores are held against, and what they may begin from. */
import type { WireChoice } from '../protocol/compileChoices.ts';
import type { Analysis } from './analyse.ts';
import type { Budget } from './select/budget.ts';
import { type Candidate, candidateKey } from './select/scores.ts';
import { uniformly } from './select/uniform.ts';
import { choose, within } from './thin.ts';

/** The largest equal ratio that the budget allows. */
export function uniformWithin(
  analysis: Analysis,
  budget: Budget,
  wire: WireChoice = 'float32',
): readonly Candidate[] {
  const { candidates } = analysis;
  const fits = within(analysis, budget, wire);
  let [low, high] = [0, candidates.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(uniformly(candidates, middle))) low = middle;
    else high = middle - 1;
  }
  return uniformly(candidates, low);
}

/** Part of every limit that is spent on an equal ratio. */
const uniformPart = 0.5;

/** Half of a budget is spent the same everywhere, so that no exchange starves, and the rest by scores. */
export function partlyUniform(
  analysis: Analysis,
  budget: Budget,
  wire: WireChoice = 'float32',
): readonly Candidate[] {
  const base = new Set(
    uniformWithin(analysis, partOf(budget, uniformPart), wire).map(({ feature, reader }) =>
      candidateKey(feature, reader),
    ),
  );
  const { candidates } = analysis;
  const all = candidates.reduce((sum, { score }) => sum + score, 0);
  const raised = candidates.map((candidate) =>
    base.has(candidateKey(candidate.feature, candidate.reader))
      ? { ...candidate, score: raise * all + candidate.score }
      : candidate,
  );
  return choose({ ...analysis, candidates: raised }, budget, wire);
}

/** No score is so large for its bytes as one that is raised by so many times all of them. */
const raise = 1e9;

function partOf({ keep, bytes, rounds, latency }: Budget, part: number): Budget {
  return {
    ...(keep === undefined ? {} : { keep: part * keep }),
    ...(bytes === undefined ? {} : { bytes: part * bytes }),
    ...(rounds === undefined ? {} : { rounds }),
    ...(latency === undefined ? {} : { latency: { ...latency, ms: part * latency.ms } }),
  };
}
