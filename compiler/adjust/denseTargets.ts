/**
 * What the dense model makes at sampled positions of every contraction, gathered in one pass and used for every budget.
 * Memory is the rows', whatever the number of samples.
 */
import type { Model } from '../../graph/graph.ts';
import { seededRandom } from '../../graph/random.ts';
import type { Backend } from '../../runtime/backend.ts';
import { assertFinite, batchSize, type Calibration } from '../calibrate/calibration.ts';
import type { Contraction } from '../calibrate/contractions.ts';
import { positionsFor } from '../calibrate/gram.ts';
import { gatherChannels, positionsPerSample, samplePositions } from '../calibrate/patches.ts';
import { openPrefix } from '../calibrate/prefix.ts';
import type { Target } from './targets.ts';

/** Of one batch: output positions, and the dense value there, positions x output channels. */
export interface TargetRows {
  readonly positions: Int32Array;
  readonly targets: Float32Array;
}

/** For every contraction, one element per batch. */
export type DenseTargets = ReadonlyMap<Contraction, readonly TargetRows[]>;

export interface DenseTargetsOptions {
  readonly model: Model;
  readonly targets: ReadonlyMap<Contraction, Target>;
  readonly calibration: Calibration;
  readonly backend: Backend;
  /** Per contraction over all samples; fewer where `keptBytes` would not hold them. */
  readonly rows: number;
  readonly keptBytes: number;
  readonly seed: number;
  readonly onSamples?: (done: number) => void;
}

/** Rows for each unknown of a depthwise output, which has a dozen: more say no more. */
const depthwiseRows = 400;

function rowsFor({ depthwise, taps }: Contraction, rows: number): number {
  return depthwise ? Math.min(rows, depthwiseRows * (taps + 1)) : rows;
}

export async function denseTargets(options: DenseTargetsOptions): Promise<DenseTargets> {
  const { model, targets, calibration, backend, rows, keptBytes, seed, onSamples } = options;
  const wanted = [...targets.keys()].reduce(
    (sum, contraction) => sum + 4 * contraction.outputChannels * rowsFor(contraction, options.rows),
    0,
  );
  const share = Math.min(1, keptBytes / Math.max(1, wanted));
  const gathered = new Map([...targets.keys()].map((contraction) => [contraction, [] as TargetRows[]]));
  const random = seededRandom(seed);
  const prefix = await openPrefix(
    model,
    [...new Set([...targets.values()].map(({ value }) => value))],
    backend,
  );
  let done = 0;
  try {
    for await (const batch of calibration.batches()) {
      const values = await prefix.run(batch);
      const size = batchSize(batch);
      for (const [contraction, { value }] of targets) {
        const made = values.get(value);
        if (made === undefined) continue;
        assertFinite(made.data, `"${value}"`);
        const positions = samplePositions(
          positionsPerSample(contraction) * size,
          positionsFor(contraction, Math.ceil(share * rowsFor(contraction, rows)), calibration.samples, size),
          random,
        );
        gathered
          .get(contraction)
          ?.push({ positions, targets: gatherChannels(made, contraction.outputAxis, positions) });
      }
      done += size;
      onSamples?.(done);
    }
  } finally {
    await prefix.release();
  }
  return gathered;
}
