/**
 * Sets of indices along one axis as sorted, disjoint, non-empty half-open ranges.
 * What a shard owns of a value and what an operator needs of it are such sets.
 */

export type Range = readonly [start: number, end: number];
export type Ranges = readonly Range[];

export const noRanges: Ranges = [];

export function range(start: number, end: number): Ranges {
  return end > start ? [[start, end]] : noRanges;
}

export function size(ranges: Ranges): number {
  let total = 0;
  for (const [start, end] of ranges) total += end - start;
  return total;
}

/** Sorts, drops what is empty, joins what overlaps or touches. */
export function normalise(ranges: Ranges): Ranges {
  const sorted = ranges.filter(([start, end]) => end > start).sort((a, b) => a[0] - b[0]);
  const result: [number, number][] = [];
  for (const [start, end] of sorted) {
    const last = result.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else result.push([start, end]);
  }
  return result;
}

/** Often asked for by the search for a division, mostly of sets of one range: merged, not sorted. */
export function union(...sets: readonly Ranges[]): Ranges {
  return sets.reduce(merge, noRanges);
}

function merge(a: Ranges, b: Ranges): Ranges {
  if (a.length === 0 || a === b) return b;
  if (b.length === 0) return a;
  const result: Range[] = [];
  let i = 0;
  let j = 0;
  let open: Range | undefined;
  for (let x = a[i], y = b[j]; x !== undefined || y !== undefined; x = a[i], y = b[j]) {
    const next = y === undefined || (x !== undefined && x[0] <= y[0]) ? x : y;
    if (next === x) i++;
    else j++;
    if (next === undefined) continue;
    if (open !== undefined && next[0] <= open[1]) {
      if (next[1] > open[1]) open = [open[0], next[1]];
      continue;
    }
    if (open !== undefined) result.push(open);
    open = next;
  }
  if (open !== undefined) result.push(open);
  return result;
}

export function intersect(a: Ranges, b: Ranges): Ranges {
  const result: Range[] = [];
  let i = 0;
  let j = 0;
  for (let x = a[i], y = b[j]; x !== undefined && y !== undefined; x = a[i], y = b[j]) {
    const start = Math.max(x[0], y[0]);
    const end = Math.min(x[1], y[1]);
    if (start < end) result.push([start, end]);
    if (x[1] < y[1]) i++;
    else j++;
  }
  return result;
}

export function subtract(a: Ranges, b: Ranges): Ranges {
  const result: Range[] = [];
  for (const [start, end] of a) {
    let from = start;
    for (const [cutStart, cutEnd] of b) {
      if (cutEnd <= from || cutStart >= end) continue;
      if (cutStart > from) result.push([from, cutStart]);
      from = Math.max(from, cutEnd);
    }
    if (from < end) result.push([from, end]);
  }
  return result;
}

export function equal(a: Ranges, b: Ranges): boolean {
  return a.length === b.length && a.every(([start, end], i) => b[i]?.[0] === start && b[i]?.[1] === end);
}

export function covers(outer: Ranges, inner: Ranges): boolean {
  return subtract(inner, outer).length === 0;
}

export function shift(ranges: Ranges, by: number): Ranges {
  return ranges.map(([start, end]) => [start + by, end + by] as const);
}

export function fromIndices(indices: Iterable<number>): Ranges {
  return normalise([...indices].map((index) => [index, index + 1] as const));
}

export function toIndices(ranges: Ranges): number[] {
  const indices: number[] = [];
  for (const [start, end] of ranges) for (let index = start; index < end; index++) indices.push(index);
  return indices;
}

/** The first `count` indices. */
export function take(ranges: Ranges, count: number): Ranges {
  const result: Range[] = [];
  let left = count;
  for (const [start, end] of ranges) {
    if (left <= 0) break;
    result.push([start, Math.min(end, start + left)]);
    left -= end - start;
  }
  return result;
}

/** Where the elements of `inner` lie within the dense array of the elements of `outer`. */
export function positionsWithin(outer: Ranges, inner: Ranges): Ranges {
  const result: Range[] = [];
  let offset = 0;
  for (const piece of outer) {
    for (const [start, end] of intersect([piece], inner)) {
      result.push([offset + start - piece[0], offset + end - piece[0]]);
    }
    offset += piece[1] - piece[0];
  }
  return normalise(result);
}

/** One short text per set, for keys and names. */
export function format(ranges: Ranges): string {
  return ranges.map(([start, end]) => (end === start + 1 ? `${start}` : `${start}-${end - 1}`)).join('_');
}
