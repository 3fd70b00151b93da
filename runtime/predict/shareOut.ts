/** How many shards each device of a room gets: by speed, and what is tried around that. Pure numbers. */

/** Whole numbers in proportion to `weights` that add up to `total`, each at least one where `total` allows it. */
export function proportional(total: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((a, b) => a + b, 0);
  const counts = weights.map((weight) => Math.max(1, Math.floor((total * weight) / sum)));
  const ideal = (i: number) => (total * (weights[i] ?? 0)) / sum;
  const given = () => counts.reduce((a, b) => a + b, 0);
  const pick = (better: (a: number, b: number) => boolean, allowed: (i: number) => boolean) =>
    counts.reduce(
      (best, _, i) =>
        allowed(i) && (best < 0 || better(ideal(i) - (counts[i] ?? 0), ideal(best) - (counts[best] ?? 0)))
          ? i
          : best,
      -1,
    );
  while (given() < total) {
    const i = pick(
      (a, b) => a > b,
      () => true,
    );
    counts[i] = (counts[i] ?? 0) + 1;
  }
  while (given() > total) {
    const i = pick(
      (a, b) => a < b,
      (one) => (counts[one] ?? 0) > 1,
    );
    if (i < 0) break;
    counts[i] = (counts[i] ?? 0) - 1;
  }
  return counts;
}

/** The numbers 0, 1, 2, ... in runs of these lengths, one after the other. */
export function contiguous(counts: readonly number[]): number[][] {
  let next = 0;
  return counts.map((count) => Array.from({ length: count }, () => next++));
}

/** One shard moved from device `from` to device `to`; undefined where it has only one. */
export function moved(counts: readonly number[], from: number, to: number): number[] | undefined {
  if (from === to || (counts[from] ?? 0) < 2) return undefined;
  return counts.map((count, i) => count - Number(i === from) + Number(i === to));
}
