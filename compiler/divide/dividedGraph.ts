/** What dividing gives: the graph, in which reductions may have become partial ones, and who owns what. */
import type { Graph } from '../../graph/graph.ts';
import type { Division } from '../../runtime/lower/program.ts';

export interface DividedGraph {
  readonly graph: Graph;
  readonly division: Division;
  /** Values without an owner because making them everywhere costs less than their exchange. */
  readonly heldWhole?: ReadonlySet<string>;
}
