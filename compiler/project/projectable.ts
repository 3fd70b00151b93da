/**
 * Where combinations can travel in place of features: values that only contractions read across shards, each feature in
 * one place. Computes no weights.
 */
import { shapedValues } from '../../graph/nodeView.ts';
import { elementCount } from '../../graph/tensor.ts';
import type { Analysis } from '../analyse.ts';
import type { Contraction } from '../calibrate/contractions.ts';
import type { Feature, Source } from '../select/features.ts';

/** What one shard can tell another of a value. */
export interface Projection {
  readonly owner: number;
  readonly reader: number;
  /** Channels of the value that are combined: all that the owner has. */
  readonly channels: readonly number[];
  /** Channels that the reader has anyway: its own, and what is everywhere. */
  readonly known: readonly number[];
}

export interface ProjectedValue {
  readonly value: string;
  readonly axis: number;
  readonly channels: number;
  readonly contractions: readonly [Contraction, ...Contraction[]];
  /** By owner, then by reader. */
  readonly projections: readonly Projection[];
}

export function projectable(analysis: Analysis): readonly ProjectedValue[] {
  const { model, division, sources, contractions } = analysis;
  const shapes = shapedValues(model.graph);
  const featureSize = (value: string, axis: number): number =>
    elementCount((shapes.get(value)?.shape ?? []).filter((_, i) => i !== 0 && i !== axis));
  const inputs = new Map<string, [Contraction, ...Contraction[]]>();
  const readBy = new Map<string, Set<string>>();
  for (const contraction of contractions) {
    if (division.shardings.get(contraction.output)?.axis !== contraction.outputAxis) continue;
    const { input } = contraction;
    const list = inputs.get(input);
    if (list === undefined) inputs.set(input, [contraction]);
    else list.push(contraction);
    for (const source of sources.get(contraction) ?? []) {
      if (source === 'everywhere') continue;
      readBy.set(source.value, (readBy.get(source.value) ?? new Set()).add(input));
    }
  }
  return [...inputs].flatMap(([value, readers]) => {
    const [{ inputAxis, inputChannels }] = readers;
    const rank = shapes.get(value)?.shape?.length ?? 0;
    if (readers.some((other) => other.inputAxis !== inputAxis || !takesProjection(other, rank))) return [];
    const list = sources.get(readers[0]) ?? [];
    const counts = new Map<string, number>();
    for (const source of list) {
      if (source !== 'everywhere') counts.set(keyOf(source), (counts.get(keyOf(source)) ?? 0) + 1);
    }
    const size = featureSize(value, inputAxis);
    // What is read in two places travels once as it is; what is small before it is enlarged stays small.
    const isFree = (source: Feature) =>
      readBy.get(source.value)?.size === 1 &&
      counts.get(keyOf(source)) === 1 &&
      featureSize(source.value, division.shardings.get(source.value)?.axis ?? 1) === size;
    const where = (holds: (source: Source) => boolean) =>
      list.flatMap((source, channel) => (holds(source) ? [channel] : []));
    const shards = Array.from({ length: division.numShards }, (_, shard) => shard);
    const projections = shards.flatMap((owner) => {
      const channels = where((source) => source !== 'everywhere' && source.owner === owner && isFree(source));
      if (channels.length < 2) return [];
      return shards
        .filter((reader) => reader !== owner)
        .map((reader) => ({
          owner,
          reader,
          channels,
          known: where((source) => source === 'everywhere' || source.owner === reader),
        }));
    });
    if (projections.length === 0) return [];
    return [{ value, axis: inputAxis, channels: inputChannels, contractions: readers, projections }];
  });
}

function keyOf({ value, channel }: Feature): string {
  return `${channel} ${value}`;
}

/** Pictures by a convolution of one tap, the rest by a product over the last axis. */
function takesProjection({ node, inputAxis }: Contraction, rank: number): boolean {
  return node.opType === 'Conv' ? rank === 4 : inputAxis === rank - 1;
}
