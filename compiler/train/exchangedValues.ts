/**
 * The values of a divided graph whose features cross between shards, with the contractions that read them, and which
 * features every shard still reads. Scoring and choosing are thinning.ts's.
 */
import type { Graph } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { fromIndices, type Ranges, toIndices } from '../../graph/ranges.ts';
import { elementCount } from '../../graph/tensor.ts';
import type { Division, Sharding } from '../../runtime/lower/program.ts';
import { type Contraction, findContractions } from '../calibrate/contractions.ts';
import { type Feature, featureSources, type Source } from '../select/features.ts';
import type { Parameters } from './parameters.ts';

/** A contraction with constant weights, whose outputs have owners. */
export interface Reader {
  readonly node: string;
  readonly weight: string;
  /** Axes of the weight. */
  readonly outputAxis: number;
  readonly inputAxis: number;
  /** Shard of each output channel. */
  readonly outputOwners: readonly number[];
  /** For each input channel, the feature of the value that it is; undefined where it is none of this value. */
  readonly features: readonly (number | undefined)[];
}

export interface ExchangedValue {
  readonly value: string;
  /** Its axis of features. */
  readonly axis: number;
  /** Shard of each feature. */
  readonly owners: readonly number[];
  /** Elements of one feature of one sample. */
  readonly featureSize: number;
  /** Directly, or through operators that only move data (a concatenation reuses what was sent). */
  readonly readers: readonly Reader[];
  /** For each reading shard, 1 for each feature that it reads; its own always, but for combinations made for others. */
  readonly reads: readonly Uint8Array[];
}

/** All values that contractions read and that are divided by features. Every shard reads everything at first. */
export function exchangedValues(graph: Graph, division: Division): ExchangedValue[] {
  const shapes = shapedValues(graph);
  const contractions = findContractions(graph).filter(
    ({ output, outputAxis }) => division.shardings.get(output)?.axis === outputAxis,
  );
  const sources = featureSources(graph, division, contractions);
  const readersOf = new Map<string, Reader[]>();
  for (const contraction of contractions) {
    const list = sources.get(contraction) ?? [];
    for (const value of new Set(list.flatMap((source) => (isFeature(source) ? [source.value] : [])))) {
      const features = list.map((source) =>
        isFeature(source) && source.value === value ? source.channel : undefined,
      );
      const reader = { ...readerOf(contraction, division), features };
      readersOf.set(value, [...(readersOf.get(value) ?? []), reader]);
    }
  }
  return [...readersOf].flatMap(([value, readers]) => {
    const sharding = division.shardings.get(value);
    const shape = shapes.get(value)?.shape ?? [];
    if (sharding === undefined) return [];
    const owners = ownerList(sharding);
    const reads = Array.from({ length: division.numShards }, () => new Uint8Array(owners.length).fill(1));
    const featureSize = elementCount(shape.filter((_, axis) => axis !== 0 && axis !== sharding.axis));
    return [{ value, axis: sharding.axis, owners, featureSize, readers, reads }];
  });
}

function isFeature(source: Source): source is Feature {
  return source !== 'everywhere';
}

function readerOf(contraction: Contraction, division: Division): Omit<Reader, 'features'> {
  const { node, weight, transposed, output } = contraction;
  const sharding = division.shardings.get(output);
  const [outputAxis, inputAxis] = transposed ? [1, 0] : [0, 1];
  const outputOwners = sharding === undefined ? [] : ownerList(sharding);
  return { node: node.name, weight, outputAxis, inputAxis, outputOwners };
}

function ownerList({ parts }: Sharding): number[] {
  const owners: number[] = [];
  for (const [shard, part] of parts.entries()) for (const index of toIndices(part)) owners[index] = shard;
  return owners;
}

/** Sets every contraction's weight mask to what its shards read. */
export function applyMasks(values: readonly ExchangedValue[], parameters: Parameters): void {
  const fresh = new Set<string>();
  for (const { reads, readers } of values) {
    for (const { weight, outputAxis, inputAxis, outputOwners, features } of readers) {
      const parameter = parameters.get(weight);
      if (parameter === undefined) continue;
      const { dims } = parameter;
      const mask =
        fresh.has(weight) && parameter.mask !== undefined
          ? parameter.mask
          : new Uint8Array(parameter.value.length).fill(1);
      fresh.add(weight);
      const [outputStride = 1, inputStride = 1] = [outputAxis, inputAxis].map((axis) =>
        elementCount(dims.slice(axis + 1)),
      );
      for (let i = 0; i < mask.length; i++) {
        const feature = features[Math.floor(i / inputStride) % (dims[inputAxis] ?? 1)];
        const owner = outputOwners[Math.floor(i / outputStride) % (dims[outputAxis] ?? 1)] ?? 0;
        if (feature !== undefined && reads[owner]?.[feature] === 0) mask[i] = 0;
      }
      parameter.mask = mask;
    }
  }
}

/** The input channels that each shard reads, by contraction: the `supports` of a sparse division. */
export function supportsOf(values: readonly ExchangedValue[]): Map<string, readonly Ranges[]> {
  const unread = new Map<string, { readonly channels: number; readonly shards: readonly Set<number>[] }>();
  for (const { reads, readers } of values) {
    for (const { node, features } of readers) {
      const entry = unread.get(node) ?? { channels: features.length, shards: reads.map(() => new Set()) };
      unread.set(node, entry);
      for (const [channel, feature] of features.entries()) {
        if (feature === undefined) continue;
        for (const [shard, list] of reads.entries()) {
          if (list[feature] === 0) entry.shards[shard]?.add(channel);
        }
      }
    }
  }
  return new Map(
    [...unread].map(([node, { channels, shards }]) => [
      node,
      shards.map((missing) =>
        fromIndices(Array.from({ length: channels }, (_, i) => i).filter((i) => !missing.has(i))),
      ),
    ]),
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

/** The inverse of supportsOf: shards no longer read what a sparse division leaves out. */
export function readSupports(
  values: readonly ExchangedValue[],
  supports: ReadonlyMap<string, readonly Ranges[]>,
): void {
  const readBySome = new Set<string>();
  const key = (value: string, shard: number, feature: number) => `${shard} ${feature} ${value}`;
  for (const { value, readers } of values) {
    for (const { node, features } of readers) {
      for (const [shard, ranges] of (supports.get(node) ?? []).entries()) {
        for (const channel of toIndices(ranges)) {
          const feature = features[channel];
          if (feature !== undefined) readBySome.add(key(value, shard, feature));
        }
      }
    }
  }
  for (const { value, owners, reads, readers } of values) {
    // A contraction without a support reads everything.
    if (readers.some(({ node }) => !supports.has(node))) continue;
    for (const [shard, list] of reads.entries()) {
      for (const feature of owners.keys()) {
        if (!readBySome.has(key(value, shard, feature))) list[feature] = 0;
      }
    }
  }
}
