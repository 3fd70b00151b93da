/** Which axis of each value holds its channels, and which values a contraction makes: the start of a division by channels. */
import type { Graph, Node } from '../../graph/graph.ts';
import { type ShapedValue, shapedValues, viewNode } from '../../graph/nodeView.ts';
import type { NodeView, OpRule } from '../../graph/ops/rule.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { range } from '../../graph/ranges.ts';

export interface DividableNode {
  readonly node: Node;
  readonly view: NodeView;
  readonly rule: OpRule;
  readonly output: string;
  /** The output's channel axis. */
  readonly axis: number;
}

export interface ChannelAxes {
  readonly values: ReadonlyMap<string, ShapedValue>;
  /** Value -> its channel axis; values without one are computed wherever they are needed. */
  readonly axes: ReadonlyMap<string, number>;
  /** In topological order. */
  readonly nodes: readonly DividableNode[];
}

/** Contractions divide their outputs; other operators inherit the axis from what they read. */
export function channelAxes(graph: Graph): ChannelAxes {
  const values = shapedValues(graph);
  const axes = new Map<string, number>();
  const nodes: DividableNode[] = [];
  for (const node of graph.nodes) {
    const rule = ruleOf(node);
    const [output] = node.outputs;
    if (rule === undefined || output === undefined) continue;
    const view = viewNode(graph, values, node);
    const axis = view.outputShape.findIndex((length, candidate) => {
      if (candidate === 0 || length < 2) return false;
      const needs = rule.needs(view, { axis: candidate, ranges: range(0, length) });
      if (needs === undefined) return false;
      if (rule.kind === 'contraction') return true;
      return needs.some(
        (need, i) => typeof need === 'object' && axes.get(node.inputs[i] ?? '') === need.axis,
      );
    });
    if (axis < 0) continue;
    axes.set(output, axis);
    nodes.push({ node, view, rule, output, axis });
  }
  return { values, axes, nodes };
}
