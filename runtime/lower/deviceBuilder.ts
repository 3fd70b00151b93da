/** The nodes, weights and constants of one device as they are written, and what is known of every local name. */
import type { Attribute, Node } from '../../graph/graph.ts';
import type { PartBuilder, Slab } from '../../graph/ops/rule.ts';
import { emitSelection } from '../../graph/ops/select.ts';
import { equal, type Ranges, range, size } from '../../graph/ranges.ts';
import { cutSlab } from '../../graph/slabs.ts';
import { valuesRead } from '../../graph/sort.ts';
import type { DataType, Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { LocalType, WeightPart } from './program.ts';
import type { RoomGraph } from './roomGraph.ts';

export class DeviceBuilder implements PartBuilder {
  readonly nodes: Node[] = [];
  readonly weights = new Map<string, WeightPart>();
  readonly constants = new Map<string, Tensor>();
  readonly types = new Map<string, LocalType>();
  /** Multiply-accumulates of the nodes that multiply. */
  readonly nodeMacs = new Map<Node, number>();
  readonly nodeLevels = new Map<Node, number>();
  #level = 0;
  macs = 0;
  /** Type of outputs whose first input has none that is known. */
  defaultType: DataType = 'float32';
  readonly #room: RoomGraph;
  readonly #used: Set<string>;
  readonly #constantNames = new Map<string, string>();
  #uncounted = 0;

  constructor(room: RoomGraph) {
    this.#room = room;
    this.#used = new Set(room.values.keys());
  }

  node(
    opType: string,
    inputs: readonly string[],
    attributes: ReadonlyMap<string, Attribute>,
    output?: string,
  ): string {
    const name = output ?? this.fresh(inputs[0] ?? opType);
    this.push({
      name: this.fresh(`${opType}:${name}`),
      opType,
      domain: '',
      inputs,
      outputs: [name],
      attributes,
    });
    if (!this.types.has(name)) {
      this.types.set(name, { dataType: this.types.get(inputs[0] ?? '')?.dataType ?? this.defaultType });
    }
    return name;
  }

  /** Writes nodes of another level for a while. */
  atLevel<T>(level: number, write: () => T): T {
    const before = this.#level;
    this.#level = level;
    const result = write();
    this.#level = before;
    return result;
  }

  push(node: Node): void {
    this.nodes.push(node);
    this.nodeLevels.set(node, this.#level);
    if (this.#uncounted > 0) this.nodeMacs.set(node, this.#uncounted);
    this.#uncounted = 0;
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
    if (this.#room.constants.has(initializer)) {
      const cut = Object.entries(partial).reduce(
        (whole, [axis, ranges]) => cutSlab(whole, { axis: Number(axis), ranges }),
        tensor,
      );
      return this.constant(cut, initializer);
    }
    const dims = tensor.dims.map((dim, axis) => (partial[axis] === undefined ? dim : size(partial[axis])));
    const name = entries.length === 0 ? initializer : this.fresh(initializer);
    this.weights.set(name, { source: initializer, selections: partial, dataType: tensor.dataType, dims });
    this.types.set(name, { dataType: tensor.dataType, dims });
    this.#constantNames.set(key, name);
    return name;
  }

  constant(tensor: Tensor, hint: string): string {
    const key = `${tensor.dataType} ${tensor.dims.join()} ${tensor.data.join()}`;
    const known = this.#constantNames.get(key);
    if (known !== undefined) return known;
    const name = this.fresh(`@${hint}`);
    this.constants.set(name, tensor);
    this.types.set(name, { dataType: tensor.dataType, dims: tensor.dims });
    this.#constantNames.set(key, name);
    return name;
  }

  /** Counted for the node that is written next. */
  countMacs(count: number): void {
    this.macs += count;
    this.#uncounted += count;
  }

  /** What a node reads that is neither weight nor constant. */
  reads(node: Node): readonly string[] {
    return valuesRead(node).filter((name) => !this.weights.has(name) && !this.constants.has(name));
  }

  fresh(hint: string): string {
    let name = hint;
    for (let n = 1; this.#used.has(name) || name === ''; n++) name = `${hint}@${n}`;
    this.#used.add(name);
    return name;
  }

  /** A value's own name where no part of it has taken that yet. */
  partName(value: string): string {
    return this.types.has(value) ? this.fresh(value) : value;
  }

  /** Notes that a local name holds a part of a value, or all of it. */
  describe(name: string, value: string, slab: Slab | 'whole' | null): void {
    const known = this.#room.values.get(value);
    if (known === undefined) return;
    const part = slab === 'whole' ? null : slab;
    const dims = known.shape.map((dim, axis) => (axis === part?.axis ? size(part.ranges) : dim));
    this.types.set(name, { dataType: known.dataType, dims });
  }

  /** Some positions, in order, of a tensor that holds part of a value. */
  select(value: string, name: string, axis: number, positions: Ranges, length: number): string {
    const selected = emitSelection(this, name, axis, positions, length);
    if (selected !== name) this.describe(selected, value, { axis, ranges: range(0, size(positions)) });
    return selected;
  }
}
