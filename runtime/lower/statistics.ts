/**
 * Results over a divided axis from partial results: each device makes the few numbers of the indices that its shards own,
 * packed into one ordinary value of one owner, and everybody combines them. What the numbers are is graph/ops/statistics.
 */
import type { Graph, Node, ValueInfo } from '../../graph/graph.ts';
import { type ShapedValue, shapedValues } from '../../graph/nodeView.ts';
import { momentPairs, pairStatistics } from '../../graph/ops/statistics/momentPairs.ts';
import { keptShape, type ValueWriter } from '../../graph/ops/statistics/statistics.ts';
import { type StatisticsNode, statisticsOf } from '../../graph/ops/statistics/table.ts';
import { type Ranges, range, toIndices } from '../../graph/ranges.ts';
import { int64Tensor, type Tensor } from '../../graph/tensor.ts';
import { type Summand, summandsOf } from './partials.ts';
import { oneShardEach } from './placements.ts';
import type { Division, Placement, Sharding } from './program.ts';

export interface ExpandedStatistics {
  readonly graph: Graph;
  /** Without `statistics`, which have become nodes. */
  readonly division: Division;
  /** Initializers of `graph` that are made here and are none of the plan's. */
  readonly constants: ReadonlySet<string>;
}

/** Writes values named after one output. */
class Writer implements ValueWriter {
  readonly nodes: Node[] = [];
  readonly values = new Map<string, ValueInfo>();
  readonly constants = new Map<string, Tensor>();
  readonly #prefix: string;
  #count = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  node: ValueWriter['node'] = (
    opType,
    inputs,
    shape,
    { attributes = {}, dataType = 'float32', output } = {},
  ) => {
    const name = output ?? this.#fresh();
    const all = new Map(Object.entries(attributes));
    this.nodes.push({
      name: `${opType}:${name}`,
      opType,
      domain: '',
      inputs,
      outputs: [name],
      attributes: all,
    });
    this.values.set(name, { name, dataType, shape });
    return name;
  };

  constant(tensor: Tensor): string {
    const name = `${this.#fresh()}@`;
    this.constants.set(name, tensor);
    return name;
  }

  #fresh(): string {
    return `${this.#prefix}/s${this.#count++}`;
  }
}

/** The graph and division that a placement lowers. */
export function expandStatistics(graph: Graph, division: Division, placement: Placement): ExpandedStatistics {
  const { statistics: given = new Map<string, Sharding>(), ...rest } = division;
  if (given.size === 0) return { graph, division: rest, constants: new Set() };
  const known = shapedValues(graph);
  const values = new Map(graph.values);
  const initializers = new Map(graph.initializers);
  const shardings = new Map(division.shardings);
  const constants = new Set<string>();
  // What shards see each in their own way is summed by shards, so that every placement computes the same.
  const wired = (division.wires?.size ?? 0) > 0;
  const holders = wired ? oneShardEach(division.numShards) : placement;
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  const pairs = momentPairs(graph);
  /** Variances that were written with their means. */
  const written = new Set<Node>();
  const foundAt = (node: Node, sharding: Sharding | undefined): StatisticsNode | undefined => {
    const found = sharding === undefined ? undefined : statisticsOf(graph, known, node);
    return sharding !== undefined && found?.axes.includes(sharding.axis) ? found : undefined;
  };
  const nodes = graph.nodes.flatMap((node): readonly Node[] => {
    if (written.has(node)) return [];
    const sharding = given.get(node.name);
    const alone = foundAt(node, sharding);
    if (alone === undefined || sharding === undefined) return [node];
    const summands = summandsOf(sharding.parts, holders);
    // Where everything lies on one device, it makes the result as the graph says.
    if (summands.length < 2) return [node];
    const variance = pairs.get(node.name);
    const second = variance === undefined ? undefined : given.get(variance.name);
    const other = variance && sameSharding(sharding, second) ? foundAt(variance, second) : undefined;
    const pair = other === undefined ? undefined : pairStatistics(alone, other);
    if (pair !== undefined && variance !== undefined) written.add(variance);
    const found = pair ?? alone;
    const writer = new Writer(node.outputs[0] ?? '');
    const packed = writeParts(found, known, sharding.axis, summands, writer);
    for (const [i, { owner }] of summands.entries()) {
      const length = packed.numbers;
      const owned = Array.from(
        { length: division.numShards },
        (_, shard): Ranges => (shard === owner ? range(0, length) : []),
      );
      shardings.set(packed.names[i] ?? '', { axis: sharding.axis, parts: owned });
    }
    writeResult(found, sharding.axis, summands, packed, writer);
    for (const [name, value] of writer.values) if (!outputs.has(name)) values.set(name, value);
    for (const [name, tensor] of writer.constants) {
      initializers.set(name, tensor);
      constants.add(name);
    }
    return writer.nodes;
  });
  return { graph: { ...graph, nodes, values, initializers }, division: { ...rest, shardings }, constants };
}

function sameSharding(one: Sharding, other: Sharding | undefined): boolean {
  return one.axis === other?.axis && JSON.stringify(one.parts) === JSON.stringify(other.parts);
}

interface Packed {
  /** One value a device. */
  readonly names: readonly string[];
  /** How many numbers each packs, along the divided axis. */
  readonly numbers: number;
}

const alongAxis = (axis: number) => ({ axis: { type: 'int', value: axis } }) as const;

function writeParts(
  { node, view, statistics, axes }: StatisticsNode,
  known: ReadonlyMap<string, ShapedValue>,
  axis: number,
  summands: readonly Summand[],
  writer: Writer,
): Packed {
  const [input = '', output = ''] = [node.inputs[0], node.outputs[0]];
  const whole = known.get(input)?.shape ?? [];
  const kept = keptShape(view, axes);
  let numbers = 0;
  const names = summands.map(({ device, features }) => {
    const indices = toIndices(features);
    const shape = whole.map((length, i) => (i === axis ? indices.length : length));
    const selected = [input, writer.constant(int64Tensor(indices))];
    const value = writer.node('Gather', selected, shape, { attributes: alongAxis(axis) });
    const results = statistics.partial(view, { value, shape, indices }, writer);
    numbers = results.length;
    const packed = kept.map((length, i) => (i === axis ? numbers : length));
    return writer.node('Concat', results, packed, {
      attributes: alongAxis(axis),
      output: `${output}/statistics${device}`,
    });
  });
  return { names, numbers };
}

/** Joins what the devices packed, takes the numbers apart again, and has the node's output written. */
function writeResult(
  { view, statistics, axes }: StatisticsNode,
  axis: number,
  summands: readonly Summand[],
  { names, numbers }: Packed,
  writer: Writer,
): void {
  const kept = keptShape(view, axes);
  const lengthOf = (length: number) => kept.map((one, i) => (i === axis ? length : one));
  const attributes = alongAxis(axis);
  const joined = writer.node('Concat', names, lengthOf(numbers * names.length), { attributes });
  const parts = summands.map(({ features }) => toIndices(features));
  const values = Array.from({ length: numbers }, (_, number) => {
    if (numbers === 1) return joined;
    const indices = int64Tensor(names.map((_, i) => i * numbers + number));
    return writer.node('Gather', [joined, writer.constant(indices)], lengthOf(names.length), { attributes });
  });
  statistics.finish(view, { values, parts, axis }, writer);
}
