/** Which nodes of a plan no shard has a part of, what they cost, and why. */
import type { Graph, Node } from '../../graph/graph.ts';
import { shapedValues, viewNode } from '../../graph/nodeView.ts';
import { replicatedOperators } from '../../graph/ops/replicated.ts';
import type { NodeView, OpRule } from '../../graph/ops/rule.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { statisticsTable } from '../../graph/ops/statistics/table.ts';
import type { PlanReport } from '../../protocol/plan.ts';
import type { Division } from '../../runtime/lower/program.ts';

export interface ReplicatedContext {
  readonly graph: Graph;
  readonly division: Division;
  /** Values without an owner because making them everywhere costs less than their exchange. */
  readonly heldWhole: ReadonlySet<string>;
}

function unruledReason({ opType, domain, outputs }: Node): string {
  if (domain !== '') return `no rule divides operators of ${domain}`;
  if (outputs.length > 1) return 'it has several outputs, and a rule makes parts of one';
  return replicatedOperators.get(opType) ?? `no rule divides ${opType}`;
}

/** The first of the rule's own reasons against an axis that is there. */
function ruledReason(view: NodeView, rule: OpRule): string {
  const { outputShape } = view;
  if (outputShape.every((length, axis) => axis === 0 || length === 1)) {
    return 'its output has one index along every axis that could be divided';
  }
  const maps = outputShape.length >= 4;
  if (maps && outputShape[1] === 1) return 'its output has one channel';
  if (maps && outputShape[2] === 1) return 'its output has one row';
  const no = [rule.doc.channels, rule.doc.rows].find((text) => text.startsWith('no: '));
  return no === undefined ? 'nothing that it reads is divided' : no.slice('no: '.length);
}

const gatherReason = 'to gather what it reads costs less than to exchange its statistics';

export function describeReplicated({
  graph,
  division,
  heldWhole,
}: ReplicatedContext): PlanReport['replicated'] {
  const values = shapedValues(graph);
  return graph.nodes.flatMap((node) => {
    const [output = ''] = node.outputs;
    const rule = ruleOf(node);
    const divided =
      division.shardings.has(output) ||
      division.partials?.has(node.name) === true ||
      division.statistics?.has(node.name) === true ||
      division.wires?.has(output) === true;
    if (rule?.kind === 'structural' || divided) return [];
    const view = viewNode(graph, values, node);
    const gathers = statisticsTable.has(node.opType) && division.shardings.has(node.inputs[0] ?? '');
    const ruled = gathers ? () => gatherReason : ruledReason;
    const why = rule === undefined ? unruledReason(node) : ruled(view, rule);
    const reason = heldWhole.has(output) ? 'to compute it everywhere costs less than to exchange it' : why;
    return [{ node: node.name, opType: node.opType, macs: rule?.macs?.(view) ?? 0, reason }];
  });
}
