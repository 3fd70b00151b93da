/**
 * An exchange of uint8 in a training graph: contractions read every exchanged value rounded to its 256 levels, and
 * gradients pass straight through (Jacob et al. 2018). The owner's own contractions read the rounded value too, which a
 * shard of the plan does not: training sees a little more rounding than the plan has.
 */
import type { Graph, Node } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { float32Tensor, type Tensor } from '../../graph/tensor.ts';
import { GraphBuilder, int } from './autodiff/graphBuilder.ts';
import type { ExchangedValue } from './exchangedValues.ts';

export interface WireInputs {
  /** Names of inputs: float32 and uint8, one number per feature each. */
  readonly scale: string;
  readonly zero: string;
}

/** Operators that only move data. */
const moving = new Set(['Concat', 'Flatten', 'Identity', 'Pad', 'Reshape', 'Slice', 'Squeeze', 'Transpose', 'Unsqueeze']); // biome-ignore format: a list

/** The graph with two further inputs for each value, by value. */
export function withFakeQuantisation(
  graph: Graph,
  exchanges: readonly ExchangedValue[],
): { readonly graph: Graph; readonly wires: ReadonlyMap<string, WireInputs> } {
  const shapes = shapedValues(graph);
  const builder = new GraphBuilder([...shapes.keys(), ...graph.nodes.map(({ name }) => name)], 'wire');
  const readers = new Set(exchanges.flatMap((exchange) => exchange.readers.map(({ node }) => node)));
  const wires = new Map<string, WireInputs>();
  const rounded = new Map<string, { readonly name: string; readonly nodes: readonly Node[] }>();
  const inputs = [...graph.inputs];
  for (const { value, axis, owners } of exchanges) {
    const x = { name: value, shape: shapes.get(value)?.shape ?? [] };
    const count = [owners.length];
    const wire = { scale: `training/scale ${value}`, zero: `training/zero ${value}` };
    inputs.push({ name: wire.scale, dataType: 'float32', shape: count });
    inputs.push({ name: wire.zero, dataType: 'uint8', shape: count });
    const ends = [wire.scale, wire.zero].map((name) => ({ name, shape: count }));
    const start = builder.nodes.length;
    const attributes = { axis: int(axis) };
    const levels = builder.node('QuantizeLinear', [x, ...ends], attributes, x.shape, { dataType: 'uint8' });
    const result = builder.node('DequantizeLinear', [levels, ...ends], attributes, x.shape);
    rounded.set(value, { name: result.name, nodes: builder.nodes.slice(start) });
    wires.set(value, wire);
  }
  const readsRounded = readerTest(graph, readers);
  const nodes = graph.nodes.flatMap((node): Node[] => {
    const own = readsRounded(node)
      ? { ...node, inputs: node.inputs.map((name) => rounded.get(name)?.name ?? name) }
      : node;
    return [own, ...node.outputs.flatMap((output) => rounded.get(output)?.nodes ?? [])];
  });
  const values = new Map([...graph.values, ...builder.values]);
  return { graph: { ...graph, inputs, nodes, values }, wires };
}

/** Contractions, and what moves data to contractions alone: a shortcut beside them stays exact. */
function readerTest(graph: Graph, readers: ReadonlySet<string>): (node: Node) => boolean {
  const consumers = new Map<string, Node[]>();
  for (const node of graph.nodes)
    for (const input of node.inputs) consumers.set(input, [...(consumers.get(input) ?? []), node]);
  const ends = new Set(graph.outputs.map(({ name }) => name));
  const test = (node: Node): boolean =>
    readers.has(node.name) ||
    (moving.has(node.opType) &&
      node.outputs.every((output) => !ends.has(output) && (consumers.get(output) ?? []).every(test)));
  return test;
}

/** Largest and least of each feature, as they are followed along training. */
export interface FeatureRange {
  readonly low: Float32Array;
  readonly high: Float32Array;
}

/** Scale and zero point of each feature, so that 0 is a level: what padding adds stays what it is. */
export function wireTensors({ low, high }: FeatureRange): { readonly scale: Tensor; readonly zero: Tensor } {
  const count = low.length;
  const zero = new Uint8Array(count);
  const scale = Float32Array.from({ length: count }, (_, i) => {
    const [least, largest] = [Math.min(0, low[i] ?? 0), Math.max(0, high[i] ?? 0)];
    const width = Math.max(1e-8, (largest - least) / 255);
    zero[i] = Math.min(255, Math.round(-least / width));
    return width;
  });
  return { scale: float32Tensor([count], scale), zero: { dataType: 'uint8', dims: [count], data: zero } };
}

/** Share of the way that a range moves towards that of a batch. */
const follow = 0.3;

export function followRange(
  range: FeatureRange,
  low: Float32Array,
  high: Float32Array,
  first: boolean,
): void {
  const share = first ? 1 : follow;
  for (const [into, from] of [
    [range.low, low],
    [range.high, high],
  ] as const) {
    for (let i = 0; i < into.length; i++) into[i] = (1 - share) * (into[i] ?? 0) + share * (from[i] ?? 0);
  }
}

/** As it is made: nothing has been seen yet. */
export function isUnset({ low, high }: FeatureRange): boolean {
  return high.every((limit) => limit === 0) && low.every((limit) => limit === 0);
}
