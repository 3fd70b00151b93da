/**
 * How much the model's outputs suffer from an error in one contraction alone: each is in turn restricted to what its shards
 * own, re-fitted, and the outputs are compared. The ratio weighs contractions against each other.
 */
import type { Model } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { blocksOf } from '../adjust/blocks.ts';
import { restrictedFit } from '../adjust/restricted.ts';
import type { Calibration } from '../calibrate/calibration.ts';
import { type Contraction, withBias } from '../calibrate/contractions.ts';
import type { Gram } from '../calibrate/gram.ts';
import { changedOutputs } from './changedOutputs.ts';
import type { Source } from './features.ts';
import { outputsOf, relativeError } from './outputs.ts';

export interface SensitivityInput {
  readonly model: Model;
  readonly division: Division;
  readonly grams: ReadonlyMap<Contraction, Gram>;
  readonly sources: ReadonlyMap<Contraction, readonly Source[]>;
  readonly calibration: Calibration;
  readonly backend: Backend;
  readonly ridge: number;
  /** Bytes of values that may be held meanwhile. */
  readonly keptBytes: number;
  readonly onContraction?: (done: number, total: number) => void;
}

/** Contraction -> relative error of the outputs for a relative error of its own; 1 on average. */
export async function sensitivities(input: SensitivityInput): Promise<ReadonlyMap<Contraction, number>> {
  const { model, division, grams, sources, calibration, backend, ridge, keptBytes } = input;
  const { onContraction } = input;
  const expected = await outputsOf(model, calibration.batches(), backend);
  const restricted = new Map<Contraction, Float64Array>();
  const errors = new Map<Contraction, number>();
  for (const [contraction, gram] of grams) {
    const source = sources.get(contraction) ?? [];
    const reads = Array.from({ length: division.numShards }, (_, shard) =>
      source.flatMap((from, channel) => (from === 'everywhere' || from.owner === shard ? [channel] : [])),
    );
    const blocks = blocksOf(division, contraction, reads);
    const own = restrictedFit(withBias(model.graph, contraction), gram, blocks, ridge);
    if (!(own.error > 1e-6)) continue;
    restricted.set(contraction, own.weights);
    errors.set(contraction, own.error);
  }
  const ratios = new Map<Contraction, number>();
  const changes = { model, changes: restricted, calibration, backend, keptBytes };
  for await (const [contraction, changed] of changedOutputs(changes)) {
    ratios.set(contraction, relativeError(expected, changed) / (errors.get(contraction) ?? 1));
    onContraction?.(ratios.size, restricted.size);
  }
  const mean = [...ratios.values()].reduce((sum, ratio) => sum + ratio, 0) / Math.max(1, ratios.size);
  return new Map([...ratios].map(([contraction, ratio]) => [contraction, mean > 0 ? ratio / mean : 1]));
}
