/** What a plan costs: multiply-accumulates and weights of each shard, rounds and bytes between them, and what is not divided. */
import type { Graph } from '../../graph/graph.ts';
import { shapedValues, viewNode } from '../../graph/nodeView.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { byteCount } from '../../graph/tensor.ts';
import type { PlanReport } from '../../protocol/plan.ts';
import type { Division, RoomProgram } from '../../runtime/lower/program.ts';

export function describePlan(graph: Graph, division: Division, onePerDevice: RoomProgram): PlanReport {
  const values = shapedValues(graph);
  let macs = 0;
  const replicated: PlanReport['replicated'] = [];
  for (const node of graph.nodes) {
    const rule = ruleOf(node);
    const cost = rule?.macs?.(viewNode(graph, values, node)) ?? 0;
    macs += cost;
    const [output = ''] = node.outputs;
    if (rule?.kind === 'structural' || division.shardings.has(output) || division.wires?.has(output))
      continue;
    const reason =
      rule === undefined ? `no rule divides ${node.opType}` : 'its output has no axis of its own';
    replicated.push({ node: node.name, opType: node.opType, macs: cost, reason });
  }
  const weightBytes = [...graph.initializers.values()].reduce((sum, { data }) => sum + data.byteLength, 0);
  return {
    macs,
    weightBytes,
    macsPerShard: onePerDevice.programs.map((program) => program.macs),
    weightBytesPerShard: onePerDevice.programs.map(({ weights }) =>
      [...weights.values()].reduce((sum, { dataType, dims }) => sum + byteCount(dataType, dims), 0),
    ),
    rounds: onePerDevice.rounds,
    exchangedBytes: onePerDevice.exchangedBytes,
    replicated,
  };
}
