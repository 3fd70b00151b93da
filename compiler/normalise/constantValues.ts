/** Which values do not depend on a graph's inputs. Says nothing of what they are. */
import type { Graph } from '../../graph/graph.ts';
import { valuesRead } from '../../graph/sort.ts';

const randomOperators: ReadonlySet<string> = new Set([
  'Bernoulli',
  'Multinomial',
  'RandomNormal',
  'RandomNormalLike',
  'RandomUniform',
  'RandomUniformLike',
]);

/** Outputs of nodes all of whose inputs are constants, and the shapes of values, which are concrete by now. */
export function constantValues(graph: Graph): ReadonlySet<string> {
  const constants = new Set(graph.initializers.keys());
  const computed = new Set<string>();
  for (const node of graph.nodes) {
    if (node.domain !== '' || randomOperators.has(node.opType)) continue;
    const asksShape = node.opType === 'Shape' || node.opType === 'Size';
    if (!asksShape && !valuesRead(node).every((name) => constants.has(name))) continue;
    for (const output of node.outputs) {
      if (output === '') continue;
      constants.add(output);
      computed.add(output);
    }
  }
  return computed;
}
