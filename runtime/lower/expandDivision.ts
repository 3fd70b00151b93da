/** Writes what a division says of sums and statistics as ordinary nodes with owners, for one placement. */
import type { Graph } from '../../graph/graph.ts';
import { expandPartials } from './partials.ts';
import type { Division, Placement } from './program.ts';
import { type ExpandedStatistics, expandStatistics } from './statistics.ts';

export function expandDivision(graph: Graph, division: Division, placement: Placement): ExpandedStatistics {
  const summed = expandPartials(graph, division, placement);
  return expandStatistics(summed.graph, summed.division, placement);
}
