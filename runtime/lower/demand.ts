/**
 * Finds out what every device needs of every value, from the outputs back to the inputs, and so what it must compute
 * itself, what it receives from others and what the host must feed it. Emits nothing.
 */
import type { Need } from '../../graph/ops/rule.ts';
import { covers, intersect, type Ranges, range, subtract, union } from '../../graph/ranges.ts';
import type { Placement } from './program.ts';
import { type NodeFacts, type RoomGraph, type Wanted, wantedKey } from './roomGraph.ts';

/** Ranges of a value that one device sends another. */
export type Sent = ReadonlyMap<string, Ranges>;

export class Demands {
  /** [device] value -> what the device wants of it, by key. */
  readonly #wanted: Map<string, Map<string, Wanted>>[];
  /** [from][to] value -> ranges along the value's axis. */
  readonly #sent: Map<string, Ranges>[][];
  /** [device] value -> indices that something which is sent depends on, within what the device makes before it waits. */
  readonly #early: Map<string, Ranges>[];
  /** [device] value -> the parts in which the device makes what it owns. */
  readonly #parts: Map<string, Wanted[]>[];
  readonly #room: RoomGraph;
  readonly #placement: Placement;

  constructor(room: RoomGraph, placement: Placement) {
    this.#room = room;
    this.#placement = placement;
    this.#wanted = placement.map(() => new Map());
    this.#sent = placement.map(() => placement.map(() => new Map()));
    this.#early = placement.map(() => new Map());
    this.#parts = placement.map(() => new Map());
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
  produced(device: number, value: string): readonly Wanted[] {
    if (this.#room.sharding(value) === undefined) return [...this.wanted(device, value)];
    return this.#parts[device]?.get(value) ?? [];
  }

  /**
   * The own part of a value, in one piece or, where the division asks for it, what is sent before the rest: then that
   * leaves while the rest is still computed.
   */
  #divideOwn(device: number, value: string): Wanted[] {
    const sharding = this.#room.sharding(value);
    if (sharding === undefined) return [...this.wanted(device, value)];
    const { axis } = sharding;
    const own = this.owned(device, value);
    const sent = union(...this.#placement.map((_, to) => this.#sent[device]?.[to]?.get(value) ?? []));
    const reads = (part: Ranges) =>
      [...this.wanted(device, value)].some((other) => this.#overlaps(other, axis, part));
    if (own.length === 0 || (sent.length === 0 && !reads(own))) return [];
    // What is sent is made early itself; what is not sent, as far as something sent depends on it.
    const early = sent.length > 0 ? sent : intersect(this.#early[device]?.get(value) ?? [], own);
    if (this.#room.sendFirst) this.#early[device]?.set(value, early);
    const rest = subtract(own, early);
    if (!this.#room.sendFirst || early.length === 0 || rest.length === 0) return [{ axis, ranges: own }];
    const first = { axis, ranges: early };
    return reads(rest) ? [first, { axis, ranges: rest }] : [first];
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
    this.#placement.forEach((shards, device) => {
      for (const output of facts.node.outputs) {
        const parts = this.#divideOwn(device, output);
        this.#parts[device]?.set(output, parts);
        for (const wanted of parts) {
          const early = this.#isEarly(device, output, wanted);
          for (const { needs } of this.#room.produce(facts, wanted, shards)) {
            for (const [i, need] of needs.entries()) this.#need(device, facts.inputs[i] ?? '', need, early);
          }
        }
      }
    });
  }

  #isEarly(device: number, value: string, wanted: Wanted): boolean {
    const early = this.#early[device]?.get(value) ?? [];
    return wanted !== 'whole' && early.length > 0 && covers(early, wanted.ranges);
  }

  #need(device: number, value: string, need: Need, early: boolean): void {
    this.#want(device, value, need);
    if (!early || typeof need !== 'object') return;
    const known = this.#early[device];
    known?.set(value, union(known.get(value) ?? [], need.ranges));
  }
}
