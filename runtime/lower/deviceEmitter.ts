/**
 * Writes one device's nodes: for every value the parts that Demands says it makes, and before them the gathering of
 * what those parts read. Weights stay names with selections; nothing is copied here.
 */

import type { LocalInput } from '../../graph/ops/rule.ts';
import { emitConcat } from '../../graph/ops/select.ts';
import { equal, type Ranges, range, size } from '../../graph/ranges.ts';
import { renameReads } from '../../graph/rename.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Demands } from './demand.ts';
import { DeviceBuilder } from './deviceBuilder.ts';
import { Gatherer } from './gatherer.ts';
import type { Levels } from './levels.ts';
import { mergeNeighbours, positionsInOrder } from './orders.ts';
import type { Placement } from './program.ts';
import type { NodeFacts, Production, RoomGraph, Want } from './roomGraph.ts';

export class DeviceEmitter {
  readonly builder: DeviceBuilder;
  readonly gatherer: Gatherer;
  readonly #room: RoomGraph;
  readonly #demands: Demands;
  readonly #levels: Levels;
  readonly #device: number;
  readonly #shards: readonly number[];

  constructor(room: RoomGraph, demands: Demands, levels: Levels, device: number, placement: Placement) {
    this.builder = new DeviceBuilder(room);
    this.gatherer = new Gatherer(this.builder, room, demands, levels, device, placement.length);
    this.#room = room;
    this.#levels = levels;
    this.#demands = demands;
    this.#device = device;
    this.#shards = placement[device] ?? [];
  }

  emitNode(facts: NodeFacts): void {
    for (const output of facts.node.outputs) {
      for (const wanted of this.#demands.produced(this.#device, output)) {
        // A node with several outputs is made once, whole, for all of them.
        if (this.gatherer.known(output, wanted) !== undefined) continue;
        const level = this.#levels.made(output);
        const part = this.builder.atLevel(level, () => this.#emitPart(facts, output, wanted));
        this.gatherer.made(output, wanted, part);
      }
    }
  }

  /** The part of an owned value that goes to another device. */
  emitSent(value: string, axis: number, ranges: Ranges): string {
    return this.gatherer.gatherSent(value, { axis, ranges }).name;
  }

  #emitPart(facts: NodeFacts, output: string, want: Want): LocalInput {
    this.builder.defaultType = this.#room.values.get(output)?.dataType ?? 'float32';
    const productions = this.#room.produce(facts, want, this.#shards);
    const pieces = productions.map((production) => this.#emitProduction(facts, output, production));
    const [only] = pieces;
    if (only !== undefined && pieces.length === 1) return only;
    const { part: wanted } = want;
    if (wanted === 'whole') throw new StarlingError('INTERNAL', `"${output}" has parts but no axis.`);
    const { axis, ranges } = wanted;
    const joined = emitConcat(
      this.builder,
      pieces.map(({ name }) => name),
      axis,
    );
    this.builder.describe(joined, output, wanted);
    const order = mergeNeighbours(pieces.flatMap((piece) => piece.order));
    const positions = positionsInOrder(order, ranges);
    return { name: this.builder.select(output, joined, axis, positions, size(ranges)), order: ranges };
  }

  #emitProduction(facts: NodeFacts, output: string, production: Production): LocalInput {
    const inputs = production.needs.map((need, i): LocalInput => {
      if (need === 'none') return { name: '', order: [] };
      return this.gatherer.gather(facts.inputs[i] ?? '', need, production.reader);
    });
    if (production.kind === 'part' && !this.#isVerbatim(facts, production, inputs)) {
      const { slab } = production;
      const part = { ...slab, inputs, output: this.builder.partName(output) };
      const name = facts.rule?.emit(facts.view, part, this.builder);
      if (name === undefined) throw new StarlingError('INTERNAL', `No rule for ${facts.node.opType}.`);
      this.builder.describe(name, output, slab);
      return { name, order: slab.ranges };
    }
    const whole = this.#emitWhole(facts, output, inputs, production.reader);
    const slab = production.kind === 'part' ? production.slab : production.cut;
    if (slab === undefined) return whole;
    const { axis, ranges } = slab;
    if (this.#room.isWhole(output, slab)) return { name: whole.name, order: ranges };
    const length = this.#room.shape(output)[axis] ?? 0;
    return { name: this.builder.select(output, whole.name, axis, ranges, length), order: ranges };
  }

  /** Whether a part is the whole node on whole inputs, which then is emitted just as it stands in the graph. */
  #isVerbatim(facts: NodeFacts, production: Production, inputs: readonly LocalInput[]): boolean {
    if (production.kind !== 'part') return true;
    if (!this.#room.isWhole(facts.node.outputs[0] ?? '', production.slab)) return false;
    return production.needs.every((need, i) => {
      const input = facts.inputs[i] ?? '';
      // An input of length zero that nothing is read of: the rule leaves it out.
      if (need === 'none') return input === '' || this.#room.isConstant(input);
      if (need === 'whole') return true;
      const length = this.#room.shape(facts.inputs[i] ?? '')[need.axis] ?? 0;
      return equal(inputs[i]?.order ?? [], range(0, length));
    });
  }

  /** Emits the node itself, once, and remembers all of its outputs; returns the one asked for. */
  #emitWhole(
    facts: NodeFacts,
    output: string,
    inputs: readonly LocalInput[],
    reader: number | undefined,
  ): LocalInput {
    const { node } = facts;
    const wholeOf = (value: string) => this.#room.want(value, this.#room.whole(value), reader);
    const known = this.gatherer.known(output, wholeOf(output));
    if (known !== undefined) return known;
    const nameOf = (input: string, i: number) => {
      if (input === '') return '';
      return this.#room.isConstant(input) ? this.builder.weight(input, {}) : (inputs[i]?.name ?? '');
    };
    const captured = new Map(
      facts.inputs
        .slice(node.inputs.length)
        .map((input, i) => [input, nameOf(input, node.inputs.length + i)] as const),
    );
    const renamed = captured.size === 0 ? node : renameReads(node, captured);
    const outputs = node.outputs.map((name) => (name === '' ? '' : this.builder.partName(name)));
    this.builder.countMacs(facts.rule?.macs?.(facts.view) ?? 0);
    const name = this.builder.fresh(`${node.opType}:${outputs[0]}`);
    this.builder.push({ ...renamed, name, inputs: node.inputs.map(nameOf), outputs });
    let result: LocalInput = { name: output, order: [] };
    for (const [i, value] of node.outputs.entries()) {
      if (value === '') continue;
      const whole = this.#room.whole(value);
      const local = { name: outputs[i] ?? '', order: whole === 'whole' ? [] : whole.ranges };
      this.builder.describe(local.name, value, 'whole');
      if (value === output) result = local;
      // Another output of the same node is there too, should anybody want it.
      else this.gatherer.made(value, wholeOf(value), local);
    }
    return result;
  }
}
