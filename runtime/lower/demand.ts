/**
 * Finds out what every device needs of every value, from the outputs back to the inputs, and so what it must
 * compute itself, what it receives from others and what the host must feed it. Emits nothing.
 */
import { capturedNames } from '../../graph/captures.ts';
import type { Graph, Node } from '../../graph/graph.ts';
import { type ShapedValue, shapedValues, viewNode } from '../../graph/nodeView.ts';
import type { Need, NodeView, OpRule, Slab, SlabNeed } from '../../graph/ops/rule.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { equal, format, intersect, type Ranges, range, union } from '../../graph/ranges.ts';
import type { Division, Placement, Sharding } from './program.ts';

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
    for (let axis = 1; axis < view.outputShape.length; axis++) {
      const needs = rule.needs(view, { axis, ranges: range(0, view.outputShape[axis] ?? 0) });
      const follows = needs?.some(
        (need, i) => typeof need === 'object' && this.#axes.get(view.node.inputs[i] ?? '') === need.axis,
      );
      if (follows === true && rule.kind !== 'contraction') return axis;
    }
    return undefined;
  }
}

/** Ranges of a value that one device sends another. */
export type Sent = ReadonlyMap<string, Ranges>;

export class Demands {
  /** [device] value -> what the device wants of it, by key. */
  readonly #wanted: Map<string, Map<string, Wanted>>[];
  /** [from][to] value -> ranges along the value's axis. */
  readonly #sent: Map<string, Ranges>[][];
  readonly #room: RoomGraph;
  readonly #placement: Placement;

  constructor(room: RoomGraph, placement: Placement) {
    this.#room = room;
    this.#placement = placement;
    this.#wanted = placement.map(() => new Map());
    this.#sent = placement.map(() => placement.map(() => new Map()));
    const home = placement.findIndex((shards) => shards.includes(0));
    for (const { name } of room.graph.outputs) this.#wantOutput(name, home);
    for (const facts of room.facts.toReversed()) this.#collect(facts);
  }

  wanted(device: number, value: string): Iterable<Wanted> {
    return this.#wanted[device]?.get(value)?.values() ?? [];
  }

  sent(from: number, to: number): Sent {
    return this.#sent[from]?.[to] ?? new Map();
  }

  /** What a device owns of a value: the union of its shards' parts. */
  owned(device: number, value: string): Ranges {
    const parts = this.#room.sharding(value)?.parts ?? [];
    return union(...(this.#placement[device] ?? []).map((shard) => parts[shard] ?? []));
  }

  /** What a device makes of a node's output: its own part of an owned value, else whatever it wants. */
  produced(device: number, value: string): Wanted[] {
    const sharding = this.#room.sharding(value);
    if (sharding === undefined) return [...this.wanted(device, value)];
    const ranges = this.owned(device, value);
    const needed = this.#placement.some((_, to) =>
      to === device
        ? [...this.wanted(device, value)].some((wanted) => this.#overlaps(wanted, sharding.axis, ranges))
        : this.#sent[device]?.[to]?.has(value) === true,
    );
    return needed && ranges.length > 0 ? [{ axis: sharding.axis, ranges }] : [];
  }

  #overlaps(wanted: Wanted, axis: number, ranges: Ranges): boolean {
    return wanted === 'whole' || wanted.axis !== axis || intersect(wanted.ranges, ranges).length > 0;
  }

  #wantOutput(name: string, home: number): void {
    const sharding = this.#room.sharding(name);
    if (sharding === undefined) {
      this.#want(home, name, 'whole');
      return;
    }
    this.#placement.forEach((_, device) => {
      const ranges = this.owned(device, name);
      if (ranges.length > 0) this.#want(device, name, { axis: sharding.axis, ranges });
    });
  }

  #want(device: number, value: string, need: Need): void {
    if (need === 'none' || value === '' || this.#room.isConstant(value)) return;
    if (need !== 'whole' && need.ranges.length === 0) return;
    const wanted = this.#room.canonical(value, need);
    const byKey = this.#wanted[device]?.get(value) ?? new Map<string, Wanted>();
    this.#wanted[device]?.set(value, byKey);
    const key = wantedKey(wanted);
    const before = byKey.get(key);
    // One consumer that needs the true order decides for all.
    const ordered = before !== undefined && before !== 'whole' && before.anyOrder !== true;
    if (!ordered) byKey.set(key, wanted);
    this.#receive(device, value, wanted);
  }

  #receive(device: number, value: string, wanted: Wanted): void {
    const sharding = this.#room.sharding(value);
    if (sharding === undefined) return;
    const length = this.#room.shape(value)[sharding.axis] ?? 0;
    const ranges = wanted !== 'whole' && wanted.axis === sharding.axis ? wanted.ranges : range(0, length);
    this.#placement.forEach((_, from) => {
      if (from === device) return;
      const missing = intersect(ranges, this.owned(from, value));
      if (missing.length === 0) return;
      const sent = this.#sent[from]?.[device];
      sent?.set(value, union(sent.get(value) ?? [], missing));
    });
  }

  /** Consumers come before producers here, so everything that is wanted of the outputs is known. */
  #collect(facts: NodeFacts): void {
    this.#placement.forEach((_, device) => {
      for (const output of facts.node.outputs) {
        for (const wanted of this.produced(device, output)) {
          for (const { needs } of this.#room.produce(facts, wanted, this.#placement[device] ?? [])) {
            for (const [i, need] of needs.entries()) this.#want(device, facts.inputs[i] ?? '', need);
          }
        }
      }
    });
  }
}
