/** The order of some channels in which those of each set lie next to each other as often as can be. Knows no graph. */

export interface SentSet {
  readonly ids: ReadonlySet<number>;
  /** What travels of it: of several sets that cannot all lie together the large ones come first. */
  readonly bytes: number;
}

/** The same ids, in the given order where no other has fewer runs. */
export function togetherOrder(ids: readonly number[], sets: readonly SentSet[]): readonly number[] {
  const touched = sets
    .filter((set) => ids.some((id) => set.ids.has(id)) && ids.some((id) => !set.ids.has(id)))
    .sort((a, b) => b.bytes - a.bytes);
  const folded = foldedOrder(ids, touched, true);
  return runs(folded, touched) < runs(ids, touched) ? folded : ids;
}

/**
 * The members of the first set at one end; within both halves those of the next towards the border between them, so that
 * any two sets lie together.
 */
function foldedOrder(
  ids: readonly number[],
  sets: readonly SentSet[],
  membersFirst: boolean,
): readonly number[] {
  const [set, ...rest] = sets;
  if (set === undefined || ids.length < 2) return ids;
  const members = ids.filter((id) => set.ids.has(id));
  const others = ids.filter((id) => !set.ids.has(id));
  const [first, second] = membersFirst ? [members, others] : [others, members];
  return [...foldedOrder(first, rest, false), ...foldedOrder(second, rest, true)];
}

function runs(ids: readonly number[], sets: readonly SentSet[]): number {
  return sets.reduce(
    (sum, set) =>
      sum +
      ids.filter((id, i) => set.ids.has(id) && !(i > 0 && set.ids.has(ids[i - 1] ?? Number.NaN))).length,
    0,
  );
}
