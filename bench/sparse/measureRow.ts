/** One point of a curve: what a division sends and computes against the dense one, and how well its model does. */

import type { Sparsified } from '../../compiler/thin.ts';
import type { Model } from '../../graph/graph.ts';
import { byteCount } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { openPredictor } from './predictor.ts';
import { agreement, type Run, type Scored } from './score.ts';

export interface Cost {
  /** All that crosses between shards on devices of their own, for one sample. */
  readonly bytes: number;
  readonly rounds: number;
  readonly macsPerShard: readonly number[];
  readonly weightBytesPerShard: readonly number[];
}

export interface Point {
  readonly sentFeatures: number;
  readonly denseFeatures: number;
  readonly cost: Cost;
  /** The task's figure. */
  readonly quality: number;
  /** Share of decisions that are the dense model's. */
  readonly agreement: number;
}

export function costOf({ graph }: Model, division: Division): Cost {
  const placement = oneShardEach(division.numShards);
  const { programs, exchangedBytes, rounds } = lower(graph, division, placement);
  return {
    bytes: exchangedBytes,
    rounds,
    macsPerShard: programs.map(({ macs }) => macs),
    weightBytesPerShard: programs.map(({ weights }) =>
      [...weights.values()].reduce((sum, { dataType, dims }) => sum + byteCount(dataType, dims), 0),
    ),
  };
}

export interface Bench {
  readonly backend: Backend;
  readonly original: Model;
  readonly run: Run;
  readonly dense: Scored;
  readonly figure: string;
}

export async function measurePoint(
  { backend, original, run, dense, figure }: Bench,
  { model, division, report }: Sparsified,
): Promise<Point> {
  const predictor = await openPredictor(model, original, backend);
  const scored = await run(predictor.predict);
  await predictor.release();
  return {
    sentFeatures: report.sentFeatures,
    denseFeatures: report.denseFeatures,
    cost: costOf(model, division),
    quality: scored.figures[figure] ?? Number.NaN,
    agreement: agreement(dense, scored),
  };
}
