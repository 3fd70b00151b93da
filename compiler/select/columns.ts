/** The columns of a contraction's matrix that one shard multiplies for one input channel: what is pruned, its own channels too. */
import { ownOutputs } from '../adjust/blocks.ts';
import type { Contraction } from '../calibrate/contractions.ts';
import { positionsPerSample } from '../calibrate/patches.ts';
import type { Losses, ScoreInput } from './scores.ts';

export interface Column {
  readonly contraction: Contraction;
  readonly shard: number;
  readonly channel: number;
  readonly score: number;
  /** Multiply-accumulates that go with it. */
  readonly macs: number;
}

export function contractionColumns(
  contraction: Contraction,
  losses: Losses,
  { division }: ScoreInput,
): readonly Column[] {
  const channels = Array.from({ length: contraction.inputChannels }, (_, channel) => channel);
  const perOutput = contraction.taps * positionsPerSample(contraction);
  return Array.from({ length: division.numShards }, (_, shard) => {
    const macs = perOutput * (ownOutputs(division, contraction, shard)?.length ?? 0);
    return losses(shard, channels).map(({ channel, score }) => ({
      contraction,
      shard,
      channel,
      score,
      macs,
    }));
  }).flat();
}
