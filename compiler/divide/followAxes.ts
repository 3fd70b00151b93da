/** Follows an axis (channels, or rows) through a graph: which axis of each value its parts lie along. */
import type { Graph, Node } from '../../graph/graph.ts';
import { type ShapedValue, shapedValues, viewNode } from '../../graph/nodeView.ts';
import type { Need, NodeView, OpRule } from '../../graph/ops/rule.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { range } from '../../graph/ranges.ts';

export interface DividableNode {
  readonly node: Node;
  readonly view: NodeView;
  readonly rule: OpRule;
  readonly output: string;
  /** The output's axis. */
  readonly axis: number;
}

export interface Axes {
  readonly values: ReadonlyMap<string, ShapedValue>;
  /** Value -> its axis; values without one are computed wherever they are needed. */
  readonly axes: ReadonlyMap<string, number>;
  /** Nodes whose output has an axis, in topological order. */
  readonly nodes: readonly DividableNode[];
}

/** Whether an output axis starts a division of its own: the node mixes everything along the matching input axis. */
export type StartsAxis = (needs: readonly Need[]) => boolean;

function followAxes(
  graph: Graph,
  seeds: ReadonlyMap<string, number>,
  starts: StartsAxis,
  openBatch: boolean,
): Axes {
  const values = shapedValues(graph);
  const axes = new Map(seeds);
  const nodes: DividableNode[] = [];
  for (const node of graph.nodes) {
    const rule = ruleOf(node);
    const [output] = node.outputs;
    if (rule === undefined || output === undefined) continue;
    const view = viewNode(graph, values, node);
    const axis = view.outputShape.findIndex((length, candidate) => {
      // Where any batch may come, the first axis is its own.
      if ((candidate === 0 && openBatch) || length < 2) return false;
      const needs = rule.needs(view, { axis: candidate, ranges: range(0, length) });
      if (needs === undefined) return false;
      if (starts(needs)) return true;
      return needs.some(
        (need, i) =>
          typeof need === 'object' && need.anyOrder !== true && axes.get(node.inputs[i] ?? '') === need.axis,
      );
    });
    if (axis < 0) continue;
    axes.set(output, axis);
    nodes.push({ node, view, rule, output, axis });
  }
  return { values, axes, nodes };
}

/** Contractions start the channels of their outputs; other operators inherit the axis from what they read. */
export function channelAxes(graph: Graph, openBatch = true): Axes {
  const mixes: StartsAxis = (needs) =>
    needs.some((need) => typeof need === 'object' && need.anyOrder === true);
  return followAxes(graph, new Map(), mixes, openBatch);
}

/** Rows start at the inputs: the third axis of pictures and maps, [N, C, H, W]. */
export function rowAxes(graph: Graph, openBatch = true): Axes {
  const seeds = graph.inputs.filter(({ shape }) => shape?.length === 4).map(({ name }) => [name, 2] as const);
  return followAxes(graph, new Map(seeds), () => false, openBatch);
}
