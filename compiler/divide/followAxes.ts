/** Follows an axis (channels, or rows) through a graph: which axis of each value its parts lie along. */
import type { Graph, Node } from '../../graph/graph.ts';
import { type ShapedValue, shapedValues, viewNode } from '../../graph/nodeView.ts';
import type { Need, NodeView, OpRule, Slab } from '../../graph/ops/rule.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { pointwiseNeeds, statisticsOf } from '../../graph/ops/statistics/table.ts';
import { range } from '../../graph/ranges.ts';

export interface DividableNode {
  readonly node: Node;
  readonly view: NodeView;
  readonly rule: OpRule;
  readonly output: string;
  /** The output's axis. */
  readonly axis: number;
  /** The rule's needs, or those of a part whose statistics are exchanged. */
  needs(slab: Slab): readonly Need[] | undefined;
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

interface FollowOptions {
  readonly seeds: ReadonlyMap<string, number>;
  readonly starts: StartsAxis;
  /** Whether the first axis of every value must stay whole because batches of any size may come. */
  readonly openBatch: boolean;
  /** Whether axes go on through operators that exchange statistics along them. */
  readonly statistics: boolean;
}

function followAxes(graph: Graph, { seeds, starts, openBatch, statistics }: FollowOptions): Axes {
  const values = shapedValues(graph);
  const axes = new Map(seeds);
  const nodes: DividableNode[] = [];
  for (const node of graph.nodes) {
    const rule = ruleOf(node);
    const [output] = node.outputs;
    if (rule === undefined || output === undefined) continue;
    const view = viewNode(graph, values, node);
    const found = statistics ? statisticsOf(graph, values, node) : undefined;
    const needsOf = (slab: Slab) => rule.needs(view, slab) ?? (found && pointwiseNeeds(found, slab));
    const axis = view.outputShape.findIndex((length, candidate) => {
      // Where any batch may come, the first axis is its own.
      if ((candidate === 0 && openBatch) || length < 2) return false;
      const needs = needsOf({ axis: candidate, ranges: range(0, length) });
      if (needs === undefined) return false;
      if (starts(needs)) return true;
      return needs.some(
        (need, i) =>
          typeof need === 'object' && need.anyOrder !== true && axes.get(node.inputs[i] ?? '') === need.axis,
      );
    });
    if (axis < 0) continue;
    axes.set(output, axis);
    nodes.push({ node, view, rule, output, axis, needs: needsOf });
  }
  return { values, axes, nodes };
}

/** Contractions start the channels of their outputs; other operators inherit the axis from what they read. */
export function channelAxes(graph: Graph, openBatch = true, statistics = false): Axes {
  const mixes: StartsAxis = (needs) =>
    needs.some((need) => typeof need === 'object' && need.anyOrder === true);
  return followAxes(graph, { seeds: new Map(), starts: mixes, openBatch, statistics });
}

/** Rows start at the inputs: the third axis of pictures and maps, [N, C, H, W]. */
export function rowAxes(graph: Graph, openBatch = true): Axes {
  const seeds = graph.inputs.filter(({ shape }) => shape?.length === 4).map(({ name }) => [name, 2] as const);
  return followAxes(graph, { seeds: new Map(seeds), starts: () => false, openBatch, statistics: true });
}
