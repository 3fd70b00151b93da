/**
 * Writes one device's nodes: for every value the parts that Demands says it makes, and before them the
 * gathering of what those parts read. Weights stay names with selections; nothing is copied here.
 */
import { renameCaptured } from '../../graph/captures.ts';
import type { Attribute, Node } from '../../graph/graph.ts';
import type { LocalInput, Need, PartBuilder, Slab } from '../../graph/ops/rule.ts';
import { emitConcat, emitSelection } from '../../graph/ops/select.ts';
import {
  covers,
  equal,
  intersect,
  normalise,
  positionsWithin,
  type Ranges,
  range,
  size,
} from '../../graph/ranges.ts';
import type { DataType, Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import {
  type Demands,
  type NodeFacts,
  type Production,
  type RoomGraph,
  type Wanted,
  wantedKey,
} from './demand.ts';
import { mergeNeighbours, positionsInOrder } from './orders.ts';
import type { LocalType, Placement, WeightPart } from './program.ts';

/** What a device gets from elsewhere under a local name. */
export interface Arrival {
  readonly value: string;
  readonly slab: Slab | null;
  readonly name: string;
}

interface Source {
  readonly name: string;
  readonly held: Ranges;
}

export class DeviceEmitter implements PartBuilder {
  readonly nodes: Node[] = [];
  readonly weights = new Map<string, WeightPart>();
  readonly constants = new Map<string, Tensor>();
  readonly types = new Map<string, LocalType>();
  readonly feeds: Arrival[] = [];
  /** Receives, by sending device. */
  readonly receives: Map<number, Arrival[]> = new Map();
  macs = 0;
  readonly #room: RoomGraph;
  readonly #demands: Demands;
  readonly #device: number;
  readonly #numDevices: number;
  readonly #shards: readonly number[];
  readonly #used: Set<string>;
  readonly #local = new Map<string, LocalInput>();
  readonly #constantNames = new Map<string, string>();
  #defaultType: DataType = 'float32';

  constructor(room: RoomGraph, demands: Demands, device: number, placement: Placement) {
    this.#room = room;
    this.#shards = placement[device] ?? [];
    this.#demands = demands;
    this.#device = device;
    this.#numDevices = placement.length;
    this.#used = new Set(room.values.keys());
  }

  emitNode(facts: NodeFacts): void {
    for (const output of facts.node.outputs) {
      for (const wanted of this.#demands.produced(this.#device, output)) {
        // A node with several outputs is made once, whole, for all of them.
        if (this.#local.has(`${output} ${wantedKey(wanted)}`)) continue;
        this.#emitPart(facts, output, wanted);
      }
    }
  }

  /** The local tensor that holds this part of a value; gathered now where it is not there yet. */
  materialise(value: string, need: Exclude<Need, 'none'>): LocalInput {
    const wanted = this.#room.canonical(value, need);
    const local = this.#materialise(value, wanted);
    // Everything along one axis is everything along another: the order is that of the axis asked for.
    const otherAxis = need !== 'whole' && (wanted === 'whole' || wanted.axis !== need.axis);
    return otherAxis ? { name: local.name, order: need.ranges } : local;
  }

  #materialise(value: string, wanted: Wanted): LocalInput {
    const anyOrder = wanted !== 'whole' && wanted.anyOrder === true;
    const key = `${value} ${wantedKey(wanted)}`;
    const known = (anyOrder ? this.#local.get(`${key} any`) : undefined) ?? this.#local.get(key);
    if (known !== undefined) return known;
    const sharding = this.#room.sharding(value);
    if (sharding === undefined) return this.#remember(key, this.#fromHost(value, wanted));
    if (wanted === 'whole' || wanted.axis !== sharding.axis) {
      return this.#remember(key, this.#cutAlongOtherAxis(value, sharding.axis, wanted));
    }
    return this.#gather(key, value, wanted);
  }

  /** The part of an owned value that goes to another device. */
  emitSent(value: string, axis: number, ranges: Ranges): string {
    const own = this.#demands.owned(this.#device, value);
    const name = this.#local.get(`${value} ${wantedKey({ axis, ranges: own })}`)?.name;
    if (name === undefined) {
      throw new StarlingError(
        'INTERNAL',
        `Device ${this.#device} should send "${value}" but does not make it.`,
      );
    }
    return this.#select(value, name, axis, positionsWithin(own, ranges), size(own));
  }

  node(
    opType: string,
    inputs: readonly string[],
    attributes: ReadonlyMap<string, Attribute>,
    output?: string,
  ): string {
    const name = output ?? this.#fresh(inputs[0] ?? opType);
    const node = {
      name: this.#fresh(`${opType}:${name}`),
      opType,
      domain: '',
      inputs,
      outputs: [name],
      attributes,
    };
    this.nodes.push(node);
    if (!this.types.has(name)) {
      const dataType = this.types.get(inputs[0] ?? '')?.dataType ?? this.#defaultType;
      this.types.set(name, { dataType });
    }
    return name;
  }

  weight(initializer: string, selections: Readonly<Record<number, Ranges>>): string {
    const tensor = this.#room.graph.initializers.get(initializer);
    if (tensor === undefined || tensor.dataType === 'string') {
      throw new StarlingError('GRAPH_INVALID', `"${initializer}" is not a numeric initializer of the plan.`);
    }
    const entries = Object.entries(selections).filter(
      ([axis, ranges]) => !equal(ranges, range(0, tensor.dims[Number(axis)] ?? 0)),
    );
    const partial = Object.fromEntries(
      entries.map(([axis, ranges]): [number, Ranges] => [Number(axis), ranges]),
    );
    const key = `${initializer} ${JSON.stringify(partial)}`;
    const known = this.#constantNames.get(key);
    if (known !== undefined) return known;
    const dims = tensor.dims.map((dim, axis) => (partial[axis] === undefined ? dim : size(partial[axis])));
    const name = entries.length === 0 ? initializer : this.#fresh(initializer);
    this.weights.set(name, { source: initializer, selections: partial, dataType: tensor.dataType, dims });
    this.types.set(name, { dataType: tensor.dataType, dims });
    this.#constantNames.set(key, name);
    return name;
  }

  constant(tensor: Tensor, hint: string): string {
    const key = `${tensor.dataType} ${tensor.dims.join()} ${tensor.data.join()}`;
    const known = this.#constantNames.get(key);
    if (known !== undefined) return known;
    const name = this.#fresh(`@${hint}`);
    this.constants.set(name, tensor);
    this.types.set(name, { dataType: tensor.dataType, dims: tensor.dims });
    this.#constantNames.set(key, name);
    return name;
  }

  countMacs(count: number): void {
    this.macs += count;
  }

  #fresh(hint: string): string {
    let name = hint;
    for (let n = 1; this.#used.has(name) || name === ''; n++) name = `${hint}@${n}`;
    this.#used.add(name);
    return name;
  }

  #remember(key: string, local: LocalInput): LocalInput {
    this.#local.set(key, local);
    return local;
  }

  #describe(name: string, value: string, slab: Wanted | null): void {
    const known = this.#room.values.get(value);
    if (known === undefined) return;
    const dims = known.shape.map((dim, axis) =>
      slab !== null && slab !== 'whole' && axis === slab.axis ? size(slab.ranges) : dim,
    );
    this.types.set(name, { dataType: known.dataType, dims });
  }

  #select(value: string, name: string, axis: number, positions: Ranges, length: number): string {
    const selected = emitSelection(this, name, axis, positions, length);
    if (selected !== name) this.#describe(selected, value, { axis, ranges: range(0, size(positions)) });
    return selected;
  }

  #emitPart(facts: NodeFacts, output: string, wanted: Wanted): void {
    this.#defaultType = this.#room.values.get(output)?.dataType ?? 'float32';
    const productions = this.#room.produce(facts, wanted, this.#shards);
    const key = `${output} ${wantedKey(wanted)}`;
    const pieces = productions.map((production) => this.#emitProduction(facts, output, production));
    const [only] = pieces;
    if (only !== undefined && pieces.length === 1) {
      this.#remember(key, only);
      return;
    }
    const axis = wanted === 'whole' ? 0 : wanted.axis;
    const ranges = wanted === 'whole' ? [] : wanted.ranges;
    const joined = emitConcat(
      this,
      pieces.map(({ name }) => name),
      axis,
    );
    const order = mergeNeighbours(pieces.flatMap((piece) => piece.order));
    this.#describe(joined, output, wanted);
    const positions = positionsInOrder(order, ranges);
    this.#remember(key, { name: this.#select(output, joined, axis, positions, size(ranges)), order: ranges });
  }

  #emitProduction(facts: NodeFacts, output: string, production: Production): LocalInput {
    const inputs = production.needs.map((need, i): LocalInput => {
      if (need === 'none') return { name: '', order: [] };
      return this.materialise(facts.inputs[i] ?? '', need);
    });
    if (production.kind === 'part' && !this.#isVerbatim(facts, production, inputs)) {
      const { slab } = production;
      const name = facts.rule?.emit(facts.view, { ...slab, inputs, output: this.#outputName(output) }, this);
      if (name === undefined) throw new StarlingError('INTERNAL', `No rule for ${facts.node.opType}.`);
      this.#describe(name, output, slab);
      return { name, order: slab.ranges };
    }
    const whole = this.#emitWhole(facts, output, inputs);
    const slab = production.kind === 'part' ? production.slab : production.cut;
    if (slab === undefined) return whole;
    const { axis, ranges } = slab;
    if (this.#room.isWhole(output, slab)) return { name: whole.name, order: ranges };
    const length = this.#room.shape(output)[axis] ?? 0;
    return { name: this.#select(output, whole.name, axis, ranges, length), order: ranges };
  }

  /** Whether a part is the whole node on whole inputs, which then is emitted just as it stands in the graph. */
  #isVerbatim(facts: NodeFacts, production: Production, inputs: readonly LocalInput[]): boolean {
    if (production.kind !== 'part') return true;
    if (!this.#room.isWhole(facts.node.outputs[0] ?? '', production.slab)) return false;
    return production.needs.every((need, i) => {
      if (typeof need !== 'object') return true;
      const length = this.#room.shape(facts.inputs[i] ?? '')[need.axis] ?? 0;
      return equal(inputs[i]?.order ?? [], range(0, length));
    });
  }

  /** Emits the node itself, once, and remembers all of its outputs; returns the one asked for. */
  #emitWhole(facts: NodeFacts, output: string, inputs: readonly LocalInput[]): LocalInput {
    const { node } = facts;
    const wholeKey = `${output} ${wantedKey(this.#room.whole(output))}`;
    const known = this.#local.get(wholeKey);
    if (known !== undefined) return known;
    const nameOf = (input: string, i: number) => {
      if (input === '') return '';
      return this.#room.isConstant(input) ? this.weight(input, {}) : (inputs[i]?.name ?? '');
    };
    const captured = new Map(
      facts.inputs
        .slice(node.inputs.length)
        .map((input, i) => [input, nameOf(input, node.inputs.length + i)]),
    );
    const renamed = captured.size === 0 ? node : renameCaptured(node, captured);
    const outputs = node.outputs.map((output) => (output === '' ? '' : this.#outputName(output)));
    this.nodes.push({
      ...renamed,
      name: this.#fresh(`${node.opType}:${outputs[0]}`),
      inputs: node.inputs.map(nameOf),
      outputs,
    });
    this.macs += facts.rule?.macs?.(facts.view) ?? 0;
    for (const [i, name] of node.outputs.entries()) {
      if (name === '') continue;
      const whole = this.#room.whole(name);
      this.#describe(outputs[i] ?? '', name, 'whole');
      const order = whole === 'whole' ? [] : whole.ranges;
      this.#remember(`${name} ${wantedKey(whole)}`, { name: outputs[i] ?? '', order });
    }
    return this.#local.get(wholeKey) ?? { name: output, order: [] };
  }

  /** A value's own name where it is still free on this device. */
  #outputName(value: string): string {
    return this.types.has(value) ? this.#fresh(value) : value;
  }

  #fromHost(value: string, wanted: Wanted): LocalInput {
    const all = [...this.#demands.wanted(this.#device, value)];
    const whole = all.includes('whole');
    if (wanted === 'whole' || whole) {
      const name = this.#feed(value, null);
      if (wanted === 'whole') return { name, order: [] };
      const length = this.#room.shape(value)[wanted.axis] ?? 0;
      return { name: this.#select(value, name, wanted.axis, wanted.ranges, length), order: wanted.ranges };
    }
    const { axis } = wanted;
    const ranges = normalise(
      all.flatMap((other) => (other !== 'whole' && other.axis === axis ? other.ranges : [])),
    );
    const name = this.#feed(value, { axis, ranges });
    const positions = positionsWithin(ranges, wanted.ranges);
    return { name: this.#select(value, name, axis, positions, size(ranges)), order: wanted.ranges };
  }

  #feed(value: string, slab: Slab | null): string {
    const same = (feed: Arrival) => feed.value === value && feed.slab?.axis === slab?.axis;
    const known = this.feeds.find(same);
    if (known !== undefined) return known.name;
    const name = this.#outputName(value);
    this.feeds.push({ value, slab, name });
    this.#describe(name, value, slab);
    return name;
  }

  #cutAlongOtherAxis(value: string, ownAxis: number, wanted: Wanted): LocalInput {
    const all = range(0, this.#room.shape(value)[ownAxis] ?? 0);
    const whole = this.materialise(value, { axis: ownAxis, ranges: all });
    if (wanted === 'whole') return whole;
    const length = this.#room.shape(value)[wanted.axis] ?? 0;
    return {
      name: this.#select(value, whole.name, wanted.axis, wanted.ranges, length),
      order: wanted.ranges,
    };
  }

  /** Own and received indices of an owned value, joined; first in the order of devices, sorted only where needed. */
  #gather(key: string, value: string, wanted: Exclude<Wanted, 'whole'>): LocalInput {
    const { axis, ranges } = wanted;
    const own = this.#demands.owned(this.#device, value);
    if (covers(own, ranges)) {
      const held = this.#local.get(`${value} ${wantedKey({ axis, ranges: own })}`)?.name ?? '';
      const positions = positionsWithin(own, ranges);
      return this.#remember(key, {
        name: this.#select(value, held, axis, positions, size(own)),
        order: ranges,
      });
    }
    const joined = this.#local.get(`${key} any`);
    if (joined !== undefined) return this.#sort(key, value, joined, wanted);
    const pieces: string[] = [];
    const order: [number, number][] = [];
    for (let device = 0; device < this.#numDevices; device++) {
      const source = this.#source(device, value, axis, own);
      const part = intersect(source?.held ?? [], ranges);
      if (source === undefined || part.length === 0) continue;
      pieces.push(
        this.#select(value, source.name, axis, positionsWithin(source.held, part), size(source.held)),
      );
      order.push(...part.map(([start, end]): [number, number] => [start, end]));
    }
    const name = emitConcat(this, pieces, axis);
    this.#describe(name, value, { axis, ranges });
    const held = mergeNeighbours(order);
    if (equal(held, ranges)) return this.#remember(key, { name, order: ranges });
    const unsorted = this.#remember(`${key} any`, { name, order: held });
    return wanted.anyOrder === true ? unsorted : this.#sort(key, value, unsorted, wanted);
  }

  #sort(key: string, value: string, unsorted: LocalInput, { axis, ranges }: Slab): LocalInput {
    const positions = positionsInOrder(unsorted.order, ranges);
    const name = this.#select(value, unsorted.name, axis, positions, size(ranges));
    return this.#remember(key, { name, order: ranges });
  }

  #source(device: number, value: string, axis: number, own: Ranges): Source | undefined {
    if (device === this.#device) {
      const name = this.#local.get(`${value} ${wantedKey({ axis, ranges: own })}`)?.name;
      return name === undefined ? undefined : { name, held: own };
    }
    const held = this.#demands.sent(device, this.#device).get(value);
    if (held === undefined) return undefined;
    const arrivals = this.receives.get(device) ?? [];
    this.receives.set(device, arrivals);
    const known = arrivals.find((arrival) => arrival.value === value);
    if (known !== undefined) return { name: known.name, held };
    const name = this.#fresh(`${value}@from${device}`);
    arrivals.push({ value, slab: { axis, ranges: held }, name });
    this.#describe(name, value, { axis, ranges: held });
    return { name, held };
  }
}
