/**
 * Spends one budget over all exchanges (DISCO, Qin et al.): which features travel, and in how many rounds. A round costs
 * whatever it carries, so the search may empty whole rounds.
 */
import type { Graph } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { dataTypeBytes, elementCount } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Division } from '../../runtime/lower/program.ts';
import type { Candidate } from './scores.ts';

/** Every limit that is given holds. */
export interface Budget {
  /** Share of the bytes that a dense exchange of features sends, in the same wire type. */
  readonly keep?: number;
  /** Bytes of one run, sent between all shards. */
  readonly bytes?: number;
  /** Rounds that carry anything. */
  readonly rounds?: number;
  /** Time that all rounds may take: what crosses at `bytesPerMs` in all, and what each round waits. */
  readonly latency?: { readonly ms: number; readonly bytesPerMs: number; readonly roundTripMs: number };
}

/** Bytes of one feature, for one sample. */
export type FeatureBytes = (candidate: Candidate) => number;

/** `bytesPerElement` is the wire type's, where it is not the value's own. */
export function featureBytes(graph: Graph, division: Division, bytesPerElement?: number): FeatureBytes {
  const values = shapedValues(graph);
  return ({ feature: { value } }) => {
    const { shape = [], dataType = 'float32' } = values.get(value) ?? {};
    const channels = shape[division.shardings.get(value)?.axis ?? 1] ?? 1;
    const bytes = bytesPerElement ?? (dataType === 'string' ? 0 : dataTypeBytes[dataType]);
    return (elementCount(shape) / channels) * bytes;
  };
}

/** Rounds in the order of the graph: values that can travel at the same time share one. */
export type RoundOf = (candidate: Candidate) => number;

interface Price {
  /** Of one feature, and of a round that carries any. */
  readonly feature: (candidate: Candidate) => number;
  readonly round: number;
  readonly limit: number;
}

/** Throws BUDGET_INVALID. */
export function spend(
  candidates: readonly Candidate[],
  budget: Budget,
  bytesOf: FeatureBytes,
  roundOf: RoundOf,
): readonly Candidate[] {
  let chosen = candidates;
  for (const price of pricesOf(candidates, budget, bytesOf)) chosen = within(chosen, price, roundOf);
  return chosen;
}

/** Bytes that a kept ratio allows. Throws BUDGET_INVALID. */
export function keptBytes(keep: number, candidates: readonly Candidate[], bytesOf: FeatureBytes): number {
  if (!(keep >= 0 && keep <= 1)) {
    throw new StarlingError('BUDGET_INVALID', `A kept ratio is expected between 0 and 1, got ${keep}.`);
  }
  return keep * candidates.reduce((sum, candidate) => sum + bytesOf(candidate), 0);
}

function pricesOf(candidates: readonly Candidate[], budget: Budget, bytesOf: FeatureBytes): Price[] {
  const prices: Price[] = [];
  const { keep, bytes, rounds, latency } = budget;
  if (rounds !== undefined) {
    assertAtLeast('rounds', rounds, 0);
    prices.push({ feature: () => 0, round: 1, limit: rounds });
  }
  if (latency !== undefined) {
    assertAtLeast('latency', latency.ms, 0);
    prices.push({
      feature: (candidate) => bytesOf(candidate) / latency.bytesPerMs,
      round: latency.roundTripMs,
      limit: latency.ms,
    });
  }
  if (bytes !== undefined) {
    assertAtLeast('bytes', bytes, 0);
    prices.push({ feature: bytesOf, round: 0, limit: bytes });
  }
  if (keep !== undefined) {
    prices.push({ feature: bytesOf, round: 0, limit: keptBytes(keep, candidates, bytesOf) });
  }
  return prices;
}

function assertAtLeast(name: string, value: number, least: number): void {
  if (value >= least) return;
  throw new StarlingError(
    'BUDGET_INVALID',
    `The budget of ${name} is expected to be at least ${least}, got ${value}.`,
  );
}

/**
 * Takes away, one after another, the feature or the whole round that loses least for what it saves; a large one that goes
 * may leave room for smaller ones that went before it.
 */
function within(candidates: readonly Candidate[], price: Price, roundOf: RoundOf): readonly Candidate[] {
  const density = (candidate: Candidate) =>
    candidate.score / Math.max(price.feature(candidate), Number.MIN_VALUE);
  const rounds = new Map<number, Candidate[]>();
  for (const candidate of candidates) {
    const list = rounds.get(roundOf(candidate)) ?? [];
    rounds.set(roundOf(candidate), list);
    list.push(candidate);
  }
  for (const list of rounds.values()) list.sort((a, b) => density(b) - density(a));
  const cost = (list: readonly Candidate[]) =>
    list.reduce((sum, candidate) => sum + price.feature(candidate), 0);
  let total = [...rounds.values()].reduce((sum, list) => sum + price.round + cost(list), 0);
  const totals = new Map(
    [...rounds].map(([round, list]) => [round, { cost: cost(list), score: scoreOf(list) }]),
  );
  const limit = price.limit * (1 + 1e-9);
  const taken: Candidate[] = [];
  while (total > limit && rounds.size > 0) {
    let best: { round: number; whole: boolean; rate: number } | undefined;
    for (const [round, list] of rounds) {
      const last = list.at(-1);
      const sums = totals.get(round);
      if (last === undefined || sums === undefined) continue;
      const saved = price.round + sums.cost;
      const options = [{ round, whole: true, rate: sums.score / Math.max(saved, Number.MIN_VALUE) }];
      if (list.length > 1 && price.feature(last) > 0)
        options.push({ round, whole: false, rate: density(last) });
      for (const option of options) if (best === undefined || option.rate < best.rate) best = option;
    }
    if (best === undefined) break;
    const list = rounds.get(best.round) ?? [];
    const sums = totals.get(best.round) ?? { cost: 0, score: 0 };
    if (best.whole) {
      total -= price.round + sums.cost;
      taken.push(...list.toReversed());
      rounds.delete(best.round);
      continue;
    }
    const last = list.pop();
    if (last === undefined) break;
    total -= price.feature(last);
    taken.push(last);
    totals.set(best.round, { cost: sums.cost - price.feature(last), score: sums.score - last.score });
  }
  for (const candidate of taken.toReversed()) {
    const list = rounds.get(roundOf(candidate));
    const added = price.feature(candidate) + (list === undefined ? price.round : 0);
    if (total + added > limit) continue;
    total += added;
    rounds.set(roundOf(candidate), [...(list ?? []), candidate]);
  }
  return [...rounds.values()].flat();
}

function scoreOf(list: readonly Candidate[]): number {
  return list.reduce((sum, { score }) => sum + score, 0);
}
