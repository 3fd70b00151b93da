/** Lengths of a graph's ends that another graph of the same ends leaves open. */
import type { Graph } from '../graph/graph.ts';

/** The batch stays as it is. */
export function withOpenSides(graph: Graph, declared: Graph): Graph {
  const opened = (list: Graph['inputs'], from: Graph['inputs']): Graph['inputs'] =>
    list.map((end, i) => ({
      ...end,
      shape: (end.shape ?? []).map((length, axis) => {
        const side = from[i]?.shape?.[axis];
        return axis > 0 && typeof side === 'string' ? side : length;
      }),
    }));
  return {
    ...graph,
    inputs: opened(graph.inputs, declared.inputs),
    outputs: opened(graph.outputs, declared.outputs),
  };
}
