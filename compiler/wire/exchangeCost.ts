/** What the exchanges of a division cost once they are lowered with a wire type, before its scales are known. */

import type { Graph } from '../../graph/graph.ts';
import type { WireChoice } from '../../protocol/compileChoices.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division, RoomProgram } from '../../runtime/lower/program.ts';
import type { DividedGraph } from '../divide/dividedGraph.ts';
import type { ExchangeCost } from '../select/fitBudget.ts';
import { narrowedValues } from './narrowWires.ts';
import { rewriteWires } from './rewriteWires.ts';
import { float16Nodes, uint8Nodes, type WireNodes } from './wireNodes.ts';

/** The graph as it will be but for its scales. */
function typedWires(graph: Graph, division: Division, wire: WireChoice): DividedGraph {
  if (wire === 'float32') return { graph, division };
  const range = { low: Float32Array.of(0), high: Float32Array.of(1) };
  const nodes: WireNodes = wire === 'uint8' ? uint8Nodes(range, undefined) : float16Nodes();
  return rewriteWires(
    { graph, division },
    new Map(narrowedValues(graph, division).map((value) => [value, nodes])),
  );
}

/** One shard on each device. */
export function lowerEach(graph: Graph, division: Division, wire: WireChoice): RoomProgram {
  const typed = typedWires(graph, division, wire);
  return lower(typed.graph, typed.division, oneShardEach(division.numShards));
}

export function exchangeCost({ programs, exchangedBytes, rounds }: RoomProgram): ExchangeCost {
  const values = new Set(programs.flatMap(({ sends }) => sends.map(({ value }) => value)));
  return { bytes: exchangedBytes, rounds, values: [...values] };
}
