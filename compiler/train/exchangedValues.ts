/**
 * The values of a divided graph whose features cross between shards, with the contractions that read them, and which
 * features every shard still reads. Scoring and choosing are thinning.ts's.
 */
import { type Graph, intAttribute, type Node } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { fromIndices, type Ranges, toIndices } from '../../graph/ranges.ts';
import { elementCount } from '../../graph/tensor.ts';
import type { Division } from '../../runtime/lower/program.ts';
import type { Parameters } from './parameters.ts';

/** A convolution or matrix product with constant weights, whose outputs have owners. */
export interface Contraction {
  readonly node: string;
  readonly weight: string;
  /** Axes of the weight. */
  readonly outputAxis: number;
  readonly inputAxis: number;
  /** Shard of each output channel. */
  readonly outputOwners: readonly number[];
}

export interface ExchangedValue {
  readonly value: string;
  /** Shard of each feature (index along axis 1). */
  readonly owners: readonly number[];
  /** Elements of one feature of one sample. */
  readonly featureSize: number;
  readonly contractions: readonly Contraction[];
  /** For each reading shard, 1 for each feature that it reads; its own always. */
  readonly reads: readonly Uint8Array[];
}

/** All values that contractions read and that are divided along axis 1. Every shard reads everything at first. */
export function exchangedValues(graph: Graph, division: Division): ExchangedValue[] {
  const shapes = shapedValues(graph);
  const producers = new Map(graph.nodes.flatMap((node) => node.outputs.map((output) => [output, node])));
  const ownersOf = (value: string): readonly number[] | undefined => {
    const sharding = division.shardings.get(value);
    if (sharding !== undefined) return sharding.axis === 1 ? ownerList(sharding.parts) : undefined;
    const node = producers.get(value);
    return node === undefined ? undefined : inheritedOwners(node, shapes.get(value)?.shape[1], ownersOf);
  };
  const byValue = new Map<string, Contraction[]>();
  for (const node of graph.nodes) {
    const axes = weightAxes(graph, node);
    const outputOwners = ownersOf(node.outputs[0] ?? '');
    if (axes === undefined || outputOwners === undefined) continue;
    const value = node.inputs[0] ?? '';
    const contraction = { node: node.name, weight: node.inputs[1] ?? '', ...axes, outputOwners };
    byValue.set(value, [...(byValue.get(value) ?? []), contraction]);
  }
  return [...byValue].flatMap(([value, contractions]) => {
    const owners = ownersOf(value);
    if (owners === undefined) return [];
    const shape = shapes.get(value)?.shape ?? [];
    const reads = Array.from({ length: division.numShards }, () => new Uint8Array(owners.length).fill(1));
    return [{ value, owners, featureSize: elementCount(shape.slice(2)), contractions, reads }];
  });
}

function ownerList(parts: readonly Ranges[]): number[] {
  const owners: number[] = [];
  for (const [shard, part] of parts.entries()) for (const index of toIndices(part)) owners[index] = shard;
  return owners;
}

/** What only rearranges keeps the owners of its input's features. */
function inheritedOwners(
  node: Node,
  channels: number | undefined,
  ownersOf: (value: string) => readonly number[] | undefined,
): readonly number[] | undefined {
  if (['Reshape', 'Flatten', 'Squeeze', 'Identity'].includes(node.opType)) {
    const owners = ownersOf(node.inputs[0] ?? '');
    return owners?.length === channels ? owners : undefined;
  }
  if (node.opType !== 'Concat' || intAttribute(node, 'axis', 0) !== 1) return undefined;
  const lists = node.inputs.map(ownersOf);
  return lists.some((list) => list === undefined) ? undefined : lists.flatMap((list) => list ?? []);
}

function weightAxes(graph: Graph, node: Node): { outputAxis: number; inputAxis: number } | undefined {
  const weight = graph.initializers.get(node.inputs[1] ?? '');
  if (weight === undefined || node.domain !== '') return undefined;
  if (node.opType === 'Conv' && intAttribute(node, 'group', 1) === 1) return { outputAxis: 0, inputAxis: 1 };
  if (node.opType === 'Gemm' && intAttribute(node, 'transA', 0) === 0) {
    const transposed = intAttribute(node, 'transB', 0) === 1;
    return transposed ? { outputAxis: 0, inputAxis: 1 } : { outputAxis: 1, inputAxis: 0 };
  }
  return undefined;
}

/** Sets every contraction's weight mask to what its shards read. */
export function applyMasks(values: readonly ExchangedValue[], parameters: Parameters): void {
  for (const { reads, contractions } of values) {
    for (const { weight, outputAxis, inputAxis, outputOwners } of contractions) {
      const parameter = parameters.get(weight);
      if (parameter === undefined) continue;
      const { dims } = parameter;
      const [outputStride, inputStride] = [outputAxis, inputAxis].map((axis) =>
        elementCount(dims.slice(axis + 1)),
      );
      parameter.mask = Uint8Array.from(parameter.value, (_, i) => {
        const output = Math.floor(i / (outputStride ?? 1)) % (dims[outputAxis] ?? 1);
        const input = Math.floor(i / (inputStride ?? 1)) % (dims[inputAxis] ?? 1);
        return reads[outputOwners[output] ?? 0]?.[input] ?? 1;
      });
    }
  }
}

/** The features that each shard reads, by contraction: the `supports` of a sparse division. */
export function supportsOf(values: readonly ExchangedValue[]): Map<string, readonly Ranges[]> {
  return new Map(
    values.flatMap(({ reads, contractions }) => {
      const ranges = reads.map((list) =>
        fromIndices([...list.keys()].filter((feature) => list[feature] === 1)),
      );
      return contractions.map(({ node }) => [node, ranges] as const);
    }),
  );
}

export interface Kept {
  /** Features sent over features that a dense exchange sends. */
  readonly features: number;
  /** The same, each feature counted with its elements. */
  readonly elements: number;
}

export function keptRatio(values: readonly ExchangedValue[]): Kept {
  const sums = { features: 0, elements: 0, allFeatures: 0, allElements: 0 };
  for (const { owners, reads, featureSize } of values) {
    for (const [shard, list] of reads.entries()) {
      for (const [feature, owner] of owners.entries()) {
        if (owner === shard) continue;
        sums.allFeatures++;
        sums.allElements += featureSize;
        sums.features += list[feature] ?? 0;
        sums.elements += (list[feature] ?? 0) * featureSize;
      }
    }
  }
  return {
    features: sums.features / Math.max(1, sums.allFeatures),
    elements: sums.elements / Math.max(1, sums.allElements),
  };
}
