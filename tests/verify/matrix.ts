/** Which divisions and placements of which models are verified: the list alone, it runs nothing. */
import type { DivisionAxis } from '../../compiler/compile.ts';
import type { Placement } from '../../runtime/lower/program.ts';
import { type VerifyModel, verifyModels } from './models.ts';

export const placementKinds = ['all on one', 'one each', 'uneven'] as const;
export type PlacementKind = (typeof placementKinds)[number];

/** One compiled plan; its placements are verified one after the other. */
export interface MatrixPlan {
  readonly model: VerifyModel;
  readonly numShards: number;
  readonly axis: DivisionAxis;
}

const axes: readonly DivisionAxis[] = ['channels', 'rows', 'auto'];

/** Powers of two and not, dividing the channels and not. */
const shardCounts = [2, 3, 4, 7, 8];

export function matrix(models: readonly VerifyModel[] = verifyModels): MatrixPlan[] {
  return models.flatMap((model) => [
    // One shard is the undivided model along any axis.
    { model, numShards: 1, axis: 'channels' as const },
    ...axes.flatMap((axis) => shardCounts.map((numShards) => ({ model, numShards, axis }))),
  ]);
}

/**
 * Uneven: an even number of shards has three quarters on one device; of an odd number each third is elsewhere, so that
 * neighbours are torn apart. Of two shards or fewer none can be uneven: there the host holds none.
 */
export function placementOf(kind: PlacementKind, numShards: number): Placement {
  const shards = Array.from({ length: numShards }, (_, shard) => shard);
  if (kind === 'all on one') return [shards];
  if (kind === 'one each') return shards.map((shard) => [shard]);
  if (numShards <= 2) return [[], ...shards.toReversed().map((shard) => [shard])];
  const first = (shard: number) => (numShards % 2 === 0 ? shard < 0.75 * numShards : shard % 3 !== 1);
  return [shards.filter(first), shards.filter((shard) => !first(shard))];
}

/** `resnet20-cifar10 rows 4`, and with a kind `... uneven`. */
export function entryName({ model, axis, numShards }: MatrixPlan, kind?: string): string {
  return [model.name, axis, String(numShards), ...(kind === undefined ? [] : [kind])].join(' ');
}
