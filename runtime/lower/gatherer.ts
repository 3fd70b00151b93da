/**
 * Finds or makes the local tensor that holds a wanted part of a value: what the device has made itself, joined with
 * what it receives from others and what the host feeds it.
 */
import type { LocalInput, Need, Slab } from '../../graph/ops/rule.ts';
import { emitConcat } from '../../graph/ops/select.ts';
import {
  equal,
  intersect,
  normalise,
  positionsWithin,
  type Ranges,
  range,
  size,
} from '../../graph/ranges.ts';
import type { Demands } from './demand.ts';
import type { DeviceBuilder } from './deviceBuilder.ts';
import type { Levels } from './levels.ts';
import { ascendingPieces, mergeNeighbours, positionsInOrder } from './orders.ts';
import { type RoomGraph, type Want, type Wanted, wantKey } from './roomGraph.ts';

/** What a device gets from elsewhere under a local name. */
export interface Arrival {
  readonly value: string;
  readonly slab: Slab | null;
  readonly name: string;
}

/** A local tensor that holds some indices of an owned value. */
interface Source {
  readonly held: Ranges;
  /** Asked for only where the source is used: a received tensor that nobody reads is not received. */
  readonly name: () => string;
}

/** Pieces up to this number are joined in their true order at once; more are joined as they lie and sorted then. */
const maxPieces = 8;

export class Gatherer {
  readonly feeds: Arrival[] = [];
  /** By sending device. */
  readonly receives = new Map<number, Arrival[]>();
  readonly #builder: DeviceBuilder;
  readonly #room: RoomGraph;
  readonly #demands: Demands;
  readonly #levels: Levels;
  readonly #device: number;
  readonly #numDevices: number;
  readonly #local = new Map<string, LocalInput>();
  /** Value -> the parts of it that the device has made, in the order it made them. */
  readonly #made = new Map<string, { readonly held: Ranges; readonly name: string }[]>();

  constructor(
    builder: DeviceBuilder,
    room: RoomGraph,
    demands: Demands,
    levels: Levels,
    device: number,
    numDevices: number,
  ) {
    this.#levels = levels;
    this.#builder = builder;
    this.#room = room;
    this.#demands = demands;
    this.#device = device;
    this.#numDevices = numDevices;
  }

  known(value: string, want: Want): LocalInput | undefined {
    return this.#local.get(`${value} ${wantKey(want)}`);
  }

  /** Notes a part that the device has made. */
  made(value: string, want: Want, local: LocalInput): void {
    this.#local.set(`${value} ${wantKey(want)}`, local);
    const { part: wanted } = want;
    const sharding = this.#room.sharding(value);
    if (sharding === undefined || wanted === 'whole' || wanted.axis !== sharding.axis) return;
    const parts = this.#made.get(value) ?? [];
    parts.push({ held: wanted.ranges, name: local.name });
    this.#made.set(value, parts);
  }

  /** `reader`: the shard that reads, where the value does not look the same to all. */
  gather(value: string, need: Exclude<Need, 'none'>, reader?: number): LocalInput {
    const wanted = this.#room.canonical(value, need);
    const local = this.#builder.atLevel(this.#levels.read(value), () => this.#gather(value, wanted, reader));
    // Everything along one axis is everything along another: the order is that of the axis asked for.
    const otherAxis = need !== 'whole' && (wanted === 'whole' || wanted.axis !== need.axis);
    return otherAxis ? { name: local.name, order: need.ranges } : local;
  }

  /** Own indices of a value for another device; made with the value itself, before it counts as exchanged. */
  gatherSent(value: string, slab: Slab): LocalInput {
    return this.#builder.atLevel(this.#levels.made(value), () =>
      this.#join(
        `${value} sent ${wantKey({ part: slab, reader: undefined })}`,
        value,
        slab,
        this.#sources(value, slab.axis),
      ),
    );
  }

  #gather(value: string, wanted: Wanted, reader: number | undefined): LocalInput {
    const anyOrder = wanted !== 'whole' && wanted.anyOrder === true;
    const key = `${value} ${wantKey(this.#room.want(value, wanted, reader))}`;
    const known = (anyOrder ? this.#local.get(`${key} any`) : undefined) ?? this.#local.get(key);
    if (known !== undefined) return known;
    const wired = reader === undefined ? undefined : this.#room.wiredReads(value, wanted, reader);
    const axis = wired?.own.axis ?? this.#room.sharding(value)?.axis;
    if (axis === undefined) return this.#remember(key, this.#fromHost(value, wanted));
    if (wanted === 'whole' || wanted.axis !== axis) {
      return this.#remember(key, this.#cutAlongOtherAxis(value, axis, wanted, reader));
    }
    if (wired === undefined) return this.#join(key, value, wanted, this.#sources(value, axis));
    const reads = [
      { name: wired.base, slab: wired.own },
      { name: value, slab: wired.foreign },
    ].filter(({ slab }) => slab.ranges.length > 0);
    const sources = reads.map(({ name, slab }): Source => {
      const { name: local } = this.gather(name, slab);
      return { held: slab.ranges, name: () => local };
    });
    return this.#join(key, value, wanted, sources);
  }

  #remember(key: string, local: LocalInput): LocalInput {
    this.#local.set(key, local);
    return local;
  }

  #fromHost(value: string, wanted: Wanted): LocalInput {
    const all = [...this.#demands.wanted(this.#device, value)].map(({ part }) => part);
    if (wanted === 'whole' || all.includes('whole')) {
      const name = this.#feed(value, null);
      if (wanted === 'whole') return { name, order: [] };
      const length = this.#room.shape(value)[wanted.axis] ?? 0;
      const selected = this.#builder.select(value, name, wanted.axis, wanted.ranges, length);
      return { name: selected, order: wanted.ranges };
    }
    const { axis } = wanted;
    const ranges = normalise(
      all.flatMap((other) => (other !== 'whole' && other.axis === axis ? other.ranges : [])),
    );
    const name = this.#feed(value, { axis, ranges });
    const positions = positionsWithin(ranges, wanted.ranges);
    return { name: this.#builder.select(value, name, axis, positions, size(ranges)), order: wanted.ranges };
  }

  #feed(value: string, slab: Slab | null): string {
    const known = this.feeds.find((feed) => feed.value === value && feed.slab?.axis === slab?.axis);
    if (known !== undefined) return known.name;
    const name = this.#builder.partName(value);
    this.feeds.push({ value, slab, name });
    this.#builder.describe(name, value, slab);
    return name;
  }

  #cutAlongOtherAxis(value: string, ownAxis: number, wanted: Wanted, reader: number | undefined): LocalInput {
    const all = range(0, this.#room.shape(value)[ownAxis] ?? 0);
    const whole = this.gather(value, { axis: ownAxis, ranges: all }, reader);
    if (wanted === 'whole') return whole;
    const length = this.#room.shape(value)[wanted.axis] ?? 0;
    const name = this.#builder.select(value, whole.name, wanted.axis, wanted.ranges, length);
    return { name, order: wanted.ranges };
  }

  /** Own and received indices of an owned value, in ascending order where few pieces or the reader ask for it. */
  #join(
    key: string,
    value: string,
    wanted: Exclude<Wanted, 'whole'>,
    sources: readonly Source[],
  ): LocalInput {
    const { axis, ranges } = wanted;
    const unsorted = this.#local.get(`${key} any`);
    if (unsorted !== undefined) return this.#sort(key, value, unsorted, wanted);
    const ascending = ascendingPieces(
      sources.map(({ held }) => held),
      ranges,
    );
    if (wanted.anyOrder !== true && ascending.length <= maxPieces) {
      const pieces = ascending.map(({ source, run }) => this.#cut(value, axis, sources[source], [run]));
      const name = emitConcat(this.#builder, pieces, axis);
      this.#builder.describe(name, value, { axis, ranges });
      return this.#remember(key, { name, order: ranges });
    }
    const parts = sources.map((source) => intersect(source.held, ranges));
    const pieces = sources.flatMap((source, i) =>
      (parts[i] ?? []).length === 0 ? [] : [this.#cut(value, axis, source, parts[i] ?? [])],
    );
    const name = emitConcat(this.#builder, pieces, axis);
    this.#builder.describe(name, value, { axis, ranges });
    const order = mergeNeighbours(parts.flat());
    if (equal(order, ranges)) return this.#remember(key, { name, order: ranges });
    const joined = this.#remember(`${key} any`, { name, order });
    return wanted.anyOrder === true ? joined : this.#sort(key, value, joined, wanted);
  }

  #cut(value: string, axis: number, source: Source | undefined, ranges: Ranges): string {
    if (source === undefined) return '';
    return this.#builder.select(
      value,
      source.name(),
      axis,
      positionsWithin(source.held, ranges),
      size(source.held),
    );
  }

  #sort(key: string, value: string, unsorted: LocalInput, { axis, ranges }: Slab): LocalInput {
    const positions = positionsInOrder(unsorted.order, ranges);
    const name = this.#builder.select(value, unsorted.name, axis, positions, size(ranges));
    return this.#remember(key, { name, order: ranges });
  }

  /** In the order of devices, so that every device joins alike. */
  #sources(value: string, axis: number): Source[] {
    const sources: Source[] = [];
    for (let device = 0; device < this.#numDevices; device++) {
      if (device === this.#device) {
        for (const { held, name } of this.#made.get(value) ?? []) sources.push({ held, name: () => name });
        continue;
      }
      const held = this.#demands.sent(device, this.#device).get(value);
      if (held !== undefined) sources.push({ held, name: () => this.#receive(value, device, axis, held) });
    }
    return sources;
  }

  #receive(value: string, from: number, axis: number, held: Ranges): string {
    const arrivals = this.receives.get(from) ?? [];
    this.receives.set(from, arrivals);
    const known = arrivals.find((arrival) => arrival.value === value);
    if (known !== undefined) return known.name;
    const name = this.#builder.fresh(`${value}@from${from}`);
    arrivals.push({ value, slab: { axis, ranges: held }, name });
    this.#builder.describe(name, value, { axis, ranges: held });
    return name;
  }
}
