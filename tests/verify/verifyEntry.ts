/** One placement of one plan against the original: the comparison of `starling verify`, with samples that are reused. */
import { Comparator, type Comparison } from '../../compiler/measure/compare.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { seededRandom } from '../../graph/random.ts';
import type { Backend } from '../../runtime/backend.ts';
import type { Placement } from '../../runtime/lower/program.ts';
import type { CompiledPlan } from './compilePlan.ts';
import type { Original } from './original.ts';

/** Of the largest output, and of the largest at each index of a short last axis. */
export const tolerance = 1e-4;

export interface EntryResult extends Comparison {
  readonly rounds: number;
  readonly bytesExchanged: number;
  readonly macsPerShard: readonly number[];
  readonly macsPerDevice: readonly number[];
}

export async function verifyEntry(
  { plan, weights }: CompiledPlan,
  original: Original,
  placement: Placement,
  backend: Backend,
  seed: number,
): Promise<EntryResult> {
  const room = await openLocalRoom({
    planOf: () => ({
      model: plan.model,
      division: plan.division,
      openBatch: plan.file.maxBatch > 1,
      weights,
      warmUp: false,
    }),
    placement,
    backend,
    random: seededRandom(seed),
  });
  const comparator = new Comparator();
  try {
    for (const { inputs, outputs } of original.samples) {
      comparator.add(outputs, (await room.run(inputs)).outputs);
    }
  } finally {
    await room.close();
  }
  return {
    ...comparator.result(),
    rounds: room.room.rounds,
    bytesExchanged: room.room.exchangedBytes,
    macsPerShard: plan.file.report.macsPerShard,
    macsPerDevice: room.room.programs.map(({ macs }) => macs),
  };
}
