/** A normalised graph with its division, as lowering asks about it: owners, axes, and how a part of a value is made. */

import type { Graph, Node } from '../../graph/graph.ts';
import { type ShapedValue, shapedValues, viewNode } from '../../graph/nodeView.ts';
import type { Need, NodeView, OpRule, Slab, SlabNeed } from '../../graph/ops/rule.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { equal, format, intersect, type Ranges, range, subtract, union } from '../../graph/ranges.ts';
import { capturedNames } from '../../graph/sort.ts';
import type { Division, Sharding } from './program.ts';

/** A slab along an axis, or everything of a value that has no axis of its own. */
export type Wanted = SlabNeed | 'whole';

/** What is wanted of a value, and by which shard where it does not look the same to all. */
export interface Want {
  readonly part: Wanted;
  readonly reader: number | undefined;
}

export function wantKey({ part, reader }: Want): string {
  const key = part === 'whole' ? 'whole' : `${part.axis}:${format(part.ranges)}`;
  return reader === undefined ? key : `${key} for ${reader}`;
}

/** What a shard reads of a value that others see as it has travelled. */
export interface WiredReads {
  /** The value itself. */
  readonly base: string;
  readonly own: SlabNeed;
  readonly foreign: SlabNeed;
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

/** How a part of a node's output is made: by the rule, or whole and then cut; `reader` as in Want, of the inputs. */
export type Production = { readonly needs: readonly Need[]; readonly reader: number | undefined } & (
  | { readonly kind: 'part'; readonly slab: Slab }
  | { readonly kind: 'whole'; readonly cut: Slab | undefined }
);

export class RoomGraph {
  readonly graph: Graph;
  readonly values: ReadonlyMap<string, ShapedValue>;
  readonly facts: readonly NodeFacts[];
  /** Initializers that lowering made: they are no weights of the plan. */
  readonly constants: ReadonlySet<string>;
  readonly #shardings = new Map<string, Sharding>();
  readonly #supports: ReadonlyMap<string, readonly Ranges[]>;
  readonly #wires: ReadonlyMap<string, string>;
  /** Values without an owner that are made of such as do not look the same to all shards. */
  readonly #readerDependent = new Set<string>();
  readonly #axes = new Map<string, number>();

  constructor(graph: Graph, division: Division, constants: ReadonlySet<string> = new Set()) {
    this.graph = graph;
    this.constants = constants;
    this.#wires = division.wires ?? new Map();
    this.values = shapedValues(graph);
    this.#supports = division.supports ?? new Map();
    for (const node of graph.nodes) this.#adopt(node, division);
    this.facts = graph.nodes.map((node) => this.#factsOf(node));
  }

  sharding(value: string): Sharding | undefined {
    return this.#shardings.get(value);
  }

  /** Whether a device with all shards still makes what every shard makes, one after another, and not the graph as it is. */
  get sparse(): boolean {
    return this.#supports.size > 0 || this.#wires.size > 0;
  }

  dependsOnReader(value: string): boolean {
    return this.#wires.has(value) || this.#readerDependent.has(value);
  }

  want(value: string, part: Wanted, reader: number | undefined): Want {
    return { part, reader: this.dependsOnReader(value) ? reader : undefined };
  }

  /** Undefined for values that look the same to all shards. */
  wiredReads(value: string, part: Wanted, reader: number): WiredReads | undefined {
    const base = this.#wires.get(value);
    const sharding = base === undefined ? undefined : this.sharding(base);
    if (base === undefined || sharding === undefined) return undefined;
    const { axis, parts } = sharding;
    const along = part !== 'whole' && part.axis === axis;
    const ranges = along ? part.ranges : range(0, this.shape(value)[axis] ?? 0);
    const owned = parts[reader] ?? [];
    return {
      base,
      own: { axis, ranges: intersect(ranges, owned) },
      foreign: { axis, ranges: subtract(ranges, owned) },
    };
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
  produce(facts: NodeFacts, { part, reader }: Want, shards: readonly number[]): Production[] {
    const sharding = this.sharding(facts.node.outputs[0] ?? '');
    if (sharding === undefined || part === 'whole') return [this.#produceDense(facts, part, reader)];
    const supports = this.#supports.get(facts.node.name);
    const perShard = facts.inputs.some((input) => this.dependsOnReader(input));
    const whole = this.#produceDense(facts, part, undefined);
    if (!perShard && (supports === undefined || whole.kind === 'whole')) return [whole];
    const groups = new Map<string, { shard: number; ranges: Ranges }>();
    for (const shard of shards) {
      const ranges = intersect(sharding.parts[shard] ?? [], part.ranges);
      if (ranges.length === 0) continue;
      const key = perShard ? `${shard}` : format(supports?.[shard] ?? []);
      groups.set(key, { shard, ranges: union(groups.get(key)?.ranges ?? [], ranges) });
    }
    return [...groups.values()].map(({ shard, ranges }) => {
      const production = this.#produceDense(facts, { axis: part.axis, ranges }, perShard ? shard : undefined);
      const support = supports?.[shard];
      if (support === undefined || production.kind === 'whole') return production;
      const needs = production.needs.map(
        (need): Need =>
          typeof need === 'object' && need.anyOrder === true
            ? { ...need, ranges: intersect(need.ranges, support) }
            : need,
      );
      return { ...production, needs };
    });
  }

  #produceDense(facts: NodeFacts, wanted: Wanted, reader: number | undefined): Production {
    if (wanted !== 'whole') {
      const needs = facts.rule?.needs(facts.view, wanted);
      if (needs !== undefined) return { kind: 'part', slab: wanted, needs, reader };
    }
    const output = facts.node.outputs[0] ?? '';
    const cut = wanted === 'whole' || this.isWhole(output, wanted) ? undefined : wanted;
    const needs = facts.inputs.map(
      (input): Need => (input === '' || this.isConstant(input) ? 'none' : 'whole'),
    );
    return { kind: 'whole', needs, cut, reader };
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
    // What is read of it is told apart along the axis of the value itself.
    const wiredAxis = this.sharding(this.#wires.get(output) ?? '')?.axis;
    if (wiredAxis !== undefined) this.#axes.set(output, wiredAxis);
    if (!this.#shardings.has(output) && inputs.some((input) => this.dependsOnReader(input))) {
      for (const made of node.outputs) this.#readerDependent.add(made);
    }
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
      // Of nothing there are no parts.
      if (view.outputShape[axis] === 0) continue;
      const needs = rule.needs(view, { axis, ranges: range(0, view.outputShape[axis] ?? 0) });
      const follows = needs?.some(
        (need, i) => typeof need === 'object' && this.#axes.get(view.node.inputs[i] ?? '') === need.axis,
      );
      if (follows === true && rule.kind !== 'contraction') return axis;
    }
    return undefined;
  }
}
