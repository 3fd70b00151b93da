/**
 * Holds a budget against what a division really costs once it is lowered: some features cross whatever is chosen (those
 * that whole operators read), and rounds may merge or stay. Asks for less until the limits hold; where nothing more can be
 * left out it says what the nearest budget is. Which features go first is budget.ts's.
 */
import { StarlingError } from '../../protocol/errors.ts';
import type { Budget } from './budget.ts';
import type { Candidate } from './scores.ts';

/** Of one run with one shard on each device. */
export interface ExchangeCost {
  readonly bytes: number;
  readonly rounds: number;
  /** What crosses, by value. */
  readonly values: readonly string[];
}

type Limit = 'bytes' | 'rounds' | 'latency';

const units: Readonly<Record<Limit, string>> = {
  bytes: 'bytes',
  rounds: 'rounds',
  latency: 'ms of exchange',
};
/** Each attempt asks for less by what the last one was over. */
const attempts = 12;

function spent(limit: Limit, { latency }: Budget, { bytes, rounds }: ExchangeCost): number {
  if (limit === 'bytes') return bytes;
  if (limit === 'rounds') return rounds;
  return latency === undefined ? 0 : bytes / latency.bytesPerMs + rounds * latency.roundTripMs;
}

function allowed(limit: Limit, { bytes, rounds, latency }: Budget): number | undefined {
  return { bytes, rounds, latency: latency?.ms }[limit];
}

function withLimit(budget: Budget, limit: Limit, value: number): Budget {
  const least = Math.max(0, value);
  if (limit !== 'latency') return { ...budget, [limit]: least };
  return budget.latency === undefined ? budget : { ...budget, latency: { ...budget.latency, ms: least } };
}

function limitsOf(budget: Budget): readonly Limit[] {
  return (['bytes', 'rounds', 'latency'] as const).filter((limit) => allowed(limit, budget) !== undefined);
}

function exceeded(budget: Budget, cost: ExchangeCost): readonly Limit[] {
  return limitsOf(budget).filter(
    (limit) => spent(limit, budget, cost) > (allowed(limit, budget) ?? 0) * (1 + 1e-9),
  );
}

/** Of all limits but the kept ratio; the cost is asked for only where there are any. */
export function isWithin(budget: Budget, cost: () => ExchangeCost): boolean {
  return limitsOf(budget).length === 0 || exceeded(budget, cost()).length === 0;
}

/** Throws BUDGET_INVALID where a limit cannot be met, naming the nearest that can. */
export function fitBudget(
  budget: Budget,
  choose: (budget: Budget) => readonly Candidate[],
  costOf: (chosen: readonly Candidate[]) => ExchangeCost,
): readonly Candidate[] {
  const limits = limitsOf(budget);
  let asked = budget;
  let chosen = choose(asked);
  if (limits.length === 0) return chosen;
  const overOf = (cost: ExchangeCost) => exceeded(budget, cost);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const cost = costOf(chosen);
    const over = overOf(cost);
    if (over.length === 0) return chosen;
    if (chosen.length === 0) throw unreachable(over, budget, cost);
    for (const limit of over) {
      const excess = spent(limit, budget, cost) - (allowed(limit, budget) ?? 0);
      asked = withLimit(asked, limit, (allowed(limit, asked) ?? 0) - excess);
    }
    chosen = choose(asked);
  }
  const least = costOf([]);
  const over = overOf(least);
  if (over.length > 0) throw unreachable(over, budget, least);
  return [];
}

function unreachable(over: readonly Limit[], budget: Budget, cost: ExchangeCost): StarlingError {
  const asked = over.map((limit) => `${rounded(allowed(limit, budget) ?? 0)} ${units[limit]}`);
  const nearest = over.map((limit) => `${rounded(spent(limit, budget, cost))} ${units[limit]}`);
  const listed = cost.values.slice(0, 3).map((value) => `"${value}"`);
  const more = cost.values.length > 3 ? ` and ${cost.values.length - 3} more` : '';
  return new StarlingError(
    'BUDGET_INVALID',
    `A budget of ${asked.join(' and ')} cannot be met: operators that are not thinned read ${listed.join(', ')}${more} whole; the nearest is ${nearest.join(' and ')}.`,
  );
}

function rounded(value: number): string {
  return String(Number.isInteger(value) ? value : Math.ceil(10 * value) / 10);
}
