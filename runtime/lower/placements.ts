/** Placements that are asked for everywhere: which device holds which shards. */
import type { Placement } from './program.ts';

/** A device for each shard. */
export function oneShardEach(numShards: number): Placement {
  return Array.from({ length: numShards }, (_, shard) => [shard]);
}

/** One device with every shard. */
export function allOnOne(numShards: number): Placement {
  return [oneShardEach(numShards).flat()];
}
