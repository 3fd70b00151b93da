/** Lists of ranges whose order matters: in which order a tensor that was joined from several devices holds its indices. */
import { intersect, type Ranges } from '../../graph/ranges.ts';

/** Joins ranges that follow each other without a gap, keeping the order of the list. */
export function mergeNeighbours(list: readonly (readonly [number, number])[]): Ranges {
  const result: [number, number][] = [];
  for (const [start, end] of list) {
    const last = result.at(-1);
    if (last !== undefined && last[1] === start) last[1] = end;
    else result.push([start, end]);
  }
  return result;
}

/** Positions, in the given order of indices, of the indices of a sorted set. */
export function positionsInOrder(order: Ranges, sorted: Ranges): Ranges {
  const found: { at: number; start: number; length: number }[] = [];
  let position = 0;
  for (const piece of order) {
    for (const [start, end] of intersect([piece], sorted)) {
      found.push({ at: position + start - piece[0], start, length: end - start });
    }
    position += piece[1] - piece[0];
  }
  found.sort((a, b) => a.start - b.start);
  return mergeNeighbours(found.map(({ at, length }): [number, number] => [at, at + length]));
}

/** A run of indices in one of several sources. */
export interface Piece {
  readonly source: number;
  readonly run: readonly [number, number];
}

/** Covers sorted ranges with runs of the sources that hold them, in ascending order. */
export function ascendingPieces(sources: readonly Ranges[], ranges: Ranges): Piece[] {
  const pieces = sources.flatMap((held, source) =>
    intersect(held, ranges).map((run): Piece => ({ source, run })),
  );
  return pieces.sort((a, b) => a.run[0] - b.run[0]);
}
