/** The operators whose results over a divided axis can be told from partial results, and how. */
import type { Graph, Node } from '../../graph.ts';
import { type ShapedValue, viewNode } from '../../nodeView.ts';
import { layerAxes, meanVarianceAxes, normAxis } from '../normalization.ts';
import { argAxis, reducedAxes, softmaxAxis } from '../reduce.ts';
import { type Need, type NodeView, needUnlessConstant, type Slab } from '../rule.ts';
import { ruleOf } from '../rules.ts';
import { logSoftmaxSums, logSumExp, softmaxSums } from './exponentials.ts';
import { extremes } from './extremes.ts';
import { instanceMoments, layerMoments, meanVarianceMoments } from './moments.ts';
import { norms } from './norms.ts';
import type { Statistics } from './statistics.ts';
import { averagePool, globalAverage, globalMaximum, reduceTotals, spatialAxes, totals } from './totals.ts';

/** Operator -> how its parts' results are combined. */
export const statisticsTable: ReadonlyMap<string, Statistics> = new Map<string, Statistics>([
  ...Object.entries(reduceTotals).map(([name, total]) => [name, totals(reducedAxes, total)] as const),
  ['ArgMax', extremes(argAxis, 'ArgMax')],
  ['ArgMin', extremes(argAxis, 'ArgMin')],
  ['AveragePool', averagePool],
  ['GlobalAveragePool', globalAverage],
  ['GlobalMaxPool', globalMaximum],
  ['InstanceNormalization', instanceMoments(spatialAxes)],
  ['LayerNormalization', layerMoments(layerAxes)],
  ['LogSoftmax', logSoftmaxSums(softmaxAxis)],
  ['LpNormalization', norms(normAxis)],
  ['MeanVarianceNormalization', meanVarianceMoments(meanVarianceAxes)],
  ['ReduceLogSumExp', logSumExp(reducedAxes)],
  ['Softmax', softmaxSums(softmaxAxis)],
]);

/** An operator whose first input may be divided along the axes over which it takes its results. */
export interface StatisticsNode {
  readonly node: Node;
  readonly view: NodeView;
  readonly statistics: Statistics;
  /** Of the first input. */
  readonly axes: readonly number[];
}

/** What a part of a pointwise node's output needs, its statistics apart; undefined along any other axis. */
export function pointwiseNeeds({ statistics, axes, view }: StatisticsNode, slab: Slab): Need[] | undefined {
  if (!statistics.pointwise || !axes.includes(slab.axis)) return undefined;
  return view.node.inputs.map((_, i) => needUnlessConstant(view, i, i === 0 ? slab : 'whole'));
}

/** `values` is what shapedValues gave for this graph. */
export function statisticsOf(
  graph: Graph,
  values: ReadonlyMap<string, ShapedValue>,
  node: Node,
): StatisticsNode | undefined {
  const [input = '', output = ''] = [node.inputs[0], node.outputs[0]];
  const statistics = ruleOf(node) === undefined ? undefined : statisticsTable.get(node.opType);
  // The numbers that parts give are float32.
  if (statistics === undefined || values.get(input)?.dataType !== 'float32' || !values.has(output))
    return undefined;
  if (graph.initializers.has(input)) return undefined;
  const view = viewNode(graph, values, node);
  const axes = statistics.reducedAxes(view) ?? [];
  return axes.length === 0 ? undefined : { node, view, statistics, axes };
}
