/** A normalised graph with its division, as lowering asks about it: owners, axes, and how a part of a value is made. */

import type { Graph, Node } from '../../graph/graph.ts';
import { type ShapedValue, shapedValues, viewNode } from '../../graph/nodeView.ts';
import type { Need, NodeView, OpRule, Slab, SlabNeed } from '../../graph/ops/rule.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { equal, format, intersect, type Ranges, range, union } from '../../graph/ranges.ts';
import { capturedNames } from '../../graph/sort.ts';
import type { Division, Sharding } from './program.ts';

/** A slab along an axis, or everything of a value that has no axis of its own. */
export type Wanted = SlabNeed | 'whole';

export function wantedKey(wanted: Wanted): string {
  return wanted === 'whole' ? 'whole' : `${wanted.axis}:${format(wanted.ranges)}`;
}

/** A node with its rule and everything a part of it needs. */
export interface NodeFacts {
  readonly node: Node;
  readonly view: NodeView;
  readonly rule: OpRule | undefined;
  /** Inputs as the node lists them, then values that its subgraphs use. */
  readonly inputs: readonly string[];
  /** The axis along which the output is divided best, where there is one. */
  readonly axis: number | undefined;
}

/** How a part of a node's output is made: by the rule, or whole and then cut. */
export type Production =
  | { readonly kind: 'part'; readonly slab: Slab; readonly needs: readonly Need[] }
  | { readonly kind: 'whole'; readonly needs: readonly Need[]; readonly cut: Slab | undefined };

export class RoomGraph {
  readonly graph: Graph;
  readonly values: ReadonlyMap<string, ShapedValue>;
  readonly facts: readonly NodeFacts[];
  readonly #shardings = new Map<string, Sharding>();
  readonly #supports: ReadonlyMap<string, readonly Ranges[]>;
  readonly #axes = new Map<string, number>();

  constructor(graph: Graph, division: Division) {
    this.graph = graph;
    this.values = shapedValues(graph);
    this.#supports = division.supports ?? new Map();
    for (const node of graph.nodes) this.#adopt(node, division);
    this.facts = graph.nodes.map((node) => this.#factsOf(node));
  }

  sharding(value: string): Sharding | undefined {
    return this.#shardings.get(value);
  }

  shape(value: string): readonly number[] {
    return this.values.get(value)?.shape ?? [];
  }

  isConstant(value: string): boolean {
    return this.graph.initializers.has(value);
  }

  /** Everything of a value, as a slab along its own axis where it has one. */
  whole(value: string): Wanted {
    const axis = this.#axes.get(value);
    return axis === undefined ? 'whole' : { axis, ranges: range(0, this.shape(value)[axis] ?? 0) };
  }

  isWhole(value: string, slab: Slab): boolean {
    return equal(slab.ranges, range(0, this.shape(value)[slab.axis] ?? 0));
  }

  /** One form for each want: `whole` becomes a slab along the value's own axis, a full slab along another one becomes that. */
  canonical(value: string, need: Exclude<Need, 'none'>): Wanted {
    if (need === 'whole') return this.whole(value);
    if (need.axis === this.#axes.get(value) || !this.isWhole(value, need)) return need;
    const whole = this.whole(value);
    return whole;
  }

  /** How a device with these shards makes what is wanted: in one part, or one for each set of features that shards read. */
  produce(facts: NodeFacts, wanted: Wanted, shards: readonly number[]): Production[] {
    const whole = this.#produceDense(facts, wanted);
    const output = facts.node.outputs[0] ?? '';
    const parts = this.sharding(output)?.parts;
    const supports = this.#supports.get(facts.node.name);
    if (supports === undefined || parts === undefined || whole.kind === 'whole') return [whole];
    const groups = new Map<string, { support: Ranges; ranges: Ranges }>();
    for (const shard of shards) {
      const support = supports[shard] ?? [];
      const ranges = intersect(parts[shard] ?? [], whole.slab.ranges);
      if (ranges.length === 0) continue;
      const key = format(support);
      groups.set(key, { support, ranges: union(groups.get(key)?.ranges ?? [], ranges) });
    }
    return [...groups.values()].map(({ support, ranges }) => {
      const slab = { axis: whole.slab.axis, ranges };
      const needs = (facts.rule?.needs(facts.view, slab) ?? []).map(
        (need): Need =>
          typeof need === 'object' && need.anyOrder === true
            ? { ...need, ranges: intersect(need.ranges, support) }
            : need,
      );
      return { kind: 'part', slab, needs };
    });
  }

  #produceDense(facts: NodeFacts, wanted: Wanted): Production {
    if (wanted !== 'whole') {
      const needs = facts.rule?.needs(facts.view, wanted);
      if (needs !== undefined) return { kind: 'part', slab: wanted, needs };
    }
    const output = facts.node.outputs[0] ?? '';
    const cut = wanted === 'whole' || this.isWhole(output, wanted) ? undefined : wanted;
    const needs = facts.inputs.map(
      (input): Need => (input === '' || this.isConstant(input) ? 'none' : 'whole'),
    );
    return { kind: 'whole', needs, cut };
  }

  /** A value whose parts its rule cannot make one by one has no owners: it is computed wherever it is needed. */
  #adopt(node: Node, { shardings }: Division): void {
    const [output = ''] = node.outputs;
    const sharding = shardings.get(output);
    const rule = ruleOf(node);
    if (sharding === undefined || rule === undefined) return;
    const view = viewNode(this.graph, this.values, node);
    const { axis, parts } = sharding;
    const made = parts.every(
      (ranges) => ranges.length === 0 || rule.needs(view, { axis, ranges }) !== undefined,
    );
    if (!made) return;
    this.#shardings.set(output, sharding);
    this.#axes.set(output, axis);
  }

  #factsOf(node: Node): NodeFacts {
    const view = viewNode(this.graph, this.values, node);
    const rule = ruleOf(node);
    const inputs = [...node.inputs, ...capturedNames(node)];
    const output = node.outputs[0] ?? '';
    let axis = this.#axes.get(output);
    if (axis === undefined && rule !== undefined) {
      axis = this.#inheritedAxis(view, rule);
      if (axis !== undefined) this.#axes.set(output, axis);
    }
    return { node, view, rule, inputs, axis };
  }

  /** The axis whose parts need parts along an input's own axis. */
  #inheritedAxis(view: NodeView, rule: OpRule): number | undefined {
    for (let axis = 0; axis < view.outputShape.length; axis++) {
      const needs = rule.needs(view, { axis, ranges: range(0, view.outputShape[axis] ?? 0) });
      const follows = needs?.some(
        (need, i) => typeof need === 'object' && this.#axes.get(view.node.inputs[i] ?? '') === need.axis,
      );
      if (follows === true && rule.kind !== 'contraction') return axis;
    }
    return undefined;
  }
}
