/**
 * Finds out what every device needs of every value, from the outputs back to the inputs, and so what it must compute
 * itself, what it receives from others and what the host must feed it. Emits nothing.
 */
import type { Need } from '../../graph/ops/rule.ts';
import { intersect, noRanges, type Ranges, range, size, subtract, take, union } from '../../graph/ranges.ts';
import { tensorBytes } from '../../graph/tensor.ts';
import type { Levels } from './levels.ts';
import type { Placement } from './program.ts';
import { type NodeFacts, type RoomGraph, type Want, wantKey } from './roomGraph.ts';

/** A device's part of an output below this is one message to the host, in one piece. */
const halvedBytes = 1 << 16;

/** Ranges of a value that one device sends another. */
export type Sent = ReadonlyMap<string, Ranges>;

export class Demands {
  /** [device] value -> what the device wants of it, by key. */
  readonly #wanted: Map<string, Map<string, Want>>[];
  /** [from][to] value -> ranges along the value's axis. */
  readonly #sent: Map<string, Ranges>[][];
  /** [device] value -> indices that something which is sent next depends on. */
  readonly #early: Map<string, Ranges>[];
  /** [device] value -> indices that what is sent after the next exchange depends on. */
  readonly #afterNext: Map<string, Ranges>[];
  /** [device] value -> the parts in which the device makes what it owns. */
  readonly #parts: Map<string, Want[]>[];
  readonly #room: RoomGraph;
  readonly #placement: Placement;
  readonly #sendFirst: Levels | undefined;

  /** `sendFirst`: the levels of the values where what is sent shall be made in a part of its own, before the rest. */
  constructor(room: RoomGraph, placement: Placement, sendFirst?: Levels) {
    this.#room = room;
    this.#placement = placement;
    this.#sendFirst = sendFirst;
    this.#wanted = placement.map(() => new Map());
    this.#sent = placement.map(() => placement.map(() => new Map()));
    this.#early = placement.map(() => new Map());
    this.#afterNext = placement.map(() => new Map());
    this.#parts = placement.map(() => new Map());
    const home = placement.findIndex((shards) => shards.includes(0));
    for (const { name } of room.graph.outputs) this.#wantOutput(name, home);
    for (const facts of room.facts.toReversed()) this.#collect(facts);
  }

  wanted(device: number, value: string): Iterable<Want> {
    return this.#wanted[device]?.get(value)?.values() ?? [];
  }

  sent(from: number, to: number): Sent {
    return this.#sent[from]?.[to] ?? new Map();
  }

  /** Values of which some device sends something to another. */
  exchanged(): ReadonlySet<string> {
    return new Set(this.#sent.flat().flatMap((byValue) => [...byValue.keys()]));
  }

  /** What a device owns of a value: the union of its shards' parts. */
  owned(device: number, value: string): Ranges {
    const parts = this.#room.sharding(value)?.parts ?? [];
    return union(...(this.#placement[device] ?? []).map((shard) => parts[shard] ?? []));
  }

  /** What a device makes of a node's output: its own part of an owned value, else whatever it wants. */
  produced(device: number, value: string): readonly Want[] {
    if (this.#room.sharding(value) === undefined) return [...this.wanted(device, value)];
    return this.#parts[device]?.get(value) ?? [];
  }

  /**
   * The own part of a value, in one piece or, where the division asks for it, what is sent before the rest: then that
   * leaves while the rest is still computed.
   */
  #divideOwn(device: number, value: string): Want[] {
    const sharding = this.#room.sharding(value);
    if (sharding === undefined) return [...this.wanted(device, value)];
    const { axis } = sharding;
    const sent = union(...this.#placement.map((_, to) => this.#sent[device]?.[to]?.get(value) ?? []));
    const used = union(sent, this.#readHere(device, value, axis));
    if (used.length === 0) return [];
    // A dense plan keeps what nobody reads: a device that holds everything asks for the whole weights.
    const own = this.#room.sparse ? used : this.owned(device, value);
    const part = (ranges: Ranges): Want => ({ part: { axis, ranges }, reader: undefined });
    const early = this.#sendFirst === undefined ? noRanges : this.#earlyPart(device, value, own, sent);
    const rest = subtract(own, early);
    if (early.length === 0 || rest.length === 0) return [part(own)];
    return intersect(rest, used).length > 0 ? [part(early), part(rest)] : [part(early)];
  }

  /** Of what a device owns of a value, the indices that it reads itself. */
  #readHere(device: number, value: string, axis: number): Ranges {
    const own = this.owned(device, value);
    const read = [...this.wanted(device, value)].map(({ part }) =>
      part === 'whole' || part.axis !== axis ? own : intersect(part.ranges, own),
    );
    return union(...read);
  }

  #wantOutput(name: string, home: number): void {
    const sharding = this.#room.sharding(name);
    if (sharding === undefined) {
      this.#want(home, name, 'whole', 0);
      return;
    }
    const length = this.#room.shape(name)[sharding.axis] ?? 1;
    this.#placement.forEach((_, device) => {
      const ranges = this.owned(device, name);
      if (ranges.length === 0) return;
      this.#want(device, name, { axis: sharding.axis, ranges });
      if (this.#sendFirst !== undefined && this.#bytesOf(name) * (size(ranges) / length) >= halvedBytes) {
        // The first half is on its way to the host while the second is made.
        this.#early[device]?.set(name, take(ranges, size(ranges) >> 1));
      }
    });
  }

  #bytesOf(value: string): number {
    const { dataType = 'float32' } = this.#room.values.get(value) ?? {};
    return tensorBytes({ dataType, dims: this.#room.shape(value) });
  }

  #want(device: number, value: string, need: Need, reader?: number): void {
    if (need === 'none' || value === '' || this.#room.isConstant(value)) return;
    if (need !== 'whole' && need.ranges.length === 0) return;
    const part = this.#room.canonical(value, need);
    const wired = reader === undefined ? undefined : this.#room.wiredReads(value, part, reader);
    if (wired !== undefined) {
      this.#want(device, wired.base, wired.own);
      this.#want(device, value, wired.foreign);
      return;
    }
    const want = this.#room.want(value, part, reader);
    const byKey = this.#wanted[device]?.get(value) ?? new Map<string, Want>();
    this.#wanted[device]?.set(value, byKey);
    const key = wantKey(want);
    const before = byKey.get(key)?.part;
    // One consumer that needs the true order decides for all.
    const ordered = before !== undefined && before !== 'whole' && before.anyOrder !== true;
    if (!ordered) byKey.set(key, want);
    this.#receive(device, value, want);
  }

  #receive(device: number, value: string, { part }: Want): void {
    const sharding = this.#room.sharding(value);
    if (sharding === undefined) return;
    const length = this.#room.shape(value)[sharding.axis] ?? 0;
    const ranges = part !== 'whole' && part.axis === sharding.axis ? part.ranges : range(0, length);
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
        if (parts.length > 0) this.#hurry(device, facts, output, shards);
        for (const wanted of parts) {
          for (const { needs, reader } of this.#room.produce(facts, wanted, shards)) {
            for (const [i, need] of needs.entries()) this.#want(device, facts.inputs[i] ?? '', need, reader);
          }
        }
      }
    });
  }

  /** What is sent, and of the rest what the next thing to be sent depends on; two exchanges ahead, no further. */
  #earlyPart(device: number, value: string, own: Ranges, sent: Ranges): Ranges {
    const early = intersect(this.#early[device]?.get(value) ?? [], own);
    const later = intersect(this.#afterNext[device]?.get(value) ?? [], own);
    // An exchanged value ends one stretch: what it sends is next, what the value after it needs comes after that.
    this.#early[device]?.set(value, sent.length === 0 ? early : sent);
    this.#afterNext[device]?.set(value, sent.length === 0 ? later : subtract(early, sent));
    return union(early, sent.length === 0 ? later : sent);
  }

  /** Passes what is early of an output on to what it is made of, as far as that is made in the same stretch. */
  #hurry(device: number, facts: NodeFacts, output: string, shards: readonly number[]): void {
    const levels = this.#sendFirst;
    const axis = this.#room.sharding(output)?.axis ?? facts.axis;
    if (levels === undefined || axis === undefined) return;
    for (const early of [this.#early[device], this.#afterNext[device]]) {
      const ranges = early?.get(output) ?? [];
      if (early === undefined || ranges.length === 0) continue;
      const want = { part: { axis, ranges }, reader: undefined };
      for (const { needs } of this.#room.produce(facts, want, shards)) {
        for (const [i, need] of needs.entries()) {
          const input = facts.inputs[i] ?? '';
          if (typeof need !== 'object' || levels.read(input) !== levels.made(output)) continue;
          early.set(input, union(early.get(input) ?? [], need.ranges));
        }
      }
    }
  }
}
