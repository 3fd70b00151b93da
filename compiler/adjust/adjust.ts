/**
 * Adjusts the weights of a sparse division (RePurpose, Abdi et al.): one contraction after another is fitted to the dense
 * model on the sparse model's own inputs, so that errors do not add up. One Gram matrix is alive at a time.
 */
import type { Model } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';
import type { Division } from '../../runtime/lower/program.ts';
import type { Calibration } from '../calibrate/calibration.ts';
import { type Contraction, withBias, withWeights } from '../calibrate/contractions.ts';
import { rowWidth } from '../calibrate/patches.ts';
import { Walk } from '../calibrate/walk.ts';
import type { Products } from '../linearAlgebra/products.ts';
import { blocksOf, splitBias } from './blocks.ts';
import type { DenseTargets } from './denseTargets.ts';
import { type Fit, fitContraction } from './fit.ts';
import { contractionRows, joinedRows, valuesFor } from './rows.ts';
import type { Target } from './targets.ts';

/** Input channels that each shard reads of a contraction. */
export type Reads = ReadonlyMap<Contraction, readonly (readonly number[])[]>;

export interface AdjustOptions {
  readonly model: Model;
  readonly division: Division;
  /** All that are fitted, in the graph's order. */
  readonly contractions: readonly Contraction[];
  /** Of those that may be thinned. */
  readonly reads: Reads;
  readonly targets: ReadonlyMap<Contraction, Target>;
  /** Of the calibration's batches. */
  readonly dense: DenseTargets;
  readonly backend: Backend;
  readonly products: Products;
  readonly calibration: Calibration;
  readonly ridge: number;
  readonly sweeps: number;
  readonly scoreSweeps: number;
  readonly keptBytes: number;
  /** Is told each fit, also of contractions that are dense and see a dense model before them, but of no depthwise one; nothing of it is kept. */
  readonly onFit?: (contraction: Contraction, fit: Fit) => void;
  readonly onContraction?: (done: number, total: number) => void;
}

export interface Adjusted {
  readonly model: Model;
  /** Contraction -> share of the target's variance that is missed. */
  readonly errors: ReadonlyMap<Contraction, number>;
}

export async function adjust(options: AdjustOptions): Promise<Adjusted> {
  const { model, contractions, reads, targets, dense, backend, products, calibration } = options;
  const first = options.onFit === undefined ? firstToFit(contractions, reads) : 0;
  const steps = contractions.slice(first).flatMap((contraction) => {
    const target = targets.get(contraction);
    return target === undefined ? [] : [{ contraction, target, values: valuesFor(contraction, target) }];
  });
  const walk = new Walk({
    backend,
    calibration,
    keptBytes: options.keptBytes,
    steps: steps.map(({ values }) => values),
  });
  const errors = new Map<Contraction, number>();
  let sparse = model;
  for (const [step, { contraction, target }] of steps.entries()) {
    const width = rowWidth(contraction);
    const wanted = dense.get(contraction) ?? [];
    const total = wanted.reduce((sum, { positions }) => sum + positions.length, 0);
    const fit = await fitContraction({
      rows: joinedRows(contractionRows(contraction, target, wanted, walk.observe(sparse, step)), total),
      products,
      outputs: contraction.outputChannels,
      width,
      blocks: blocksOf(options.division, contraction, reads.get(contraction) ?? []),
      old: withBias(model.graph, contraction),
      ridge: options.ridge,
      error: target.error,
      ...(target.bounds === undefined ? {} : { bounds: target.bounds }),
      sweeps: sweepsOf(contraction, target, options),
    });
    const { weights, error, variance } = fit;
    if (!contraction.depthwise) options.onFit?.(contraction, fit);
    sparse = { ...sparse, graph: withWeights(sparse.graph, contraction, ...splitBias(weights, width)) };
    errors.set(contraction, variance > 0 ? error / variance : 0);
    options.onContraction?.(step + 1, steps.length);
  }
  return { model: sparse, errors };
}

/** A depthwise output has few weights to move, and its sweep multiplies all channels by all. */
const depthwiseSweeps = 2;

function sweepsOf(
  { depthwise }: Contraction,
  { error }: Target,
  { sweeps, scoreSweeps }: AdjustOptions,
): number {
  if (error === 'scores') return scoreSweeps;
  return depthwise ? Math.min(depthwiseSweeps, sweeps) : sweeps;
}

/** Until some shard misses a channel, the sparse model is the dense one. */
function firstToFit(contractions: readonly Contraction[], reads: Reads): number {
  const first = contractions.findIndex((contraction) =>
    reads.get(contraction)?.some((channels) => channels.length < contraction.inputChannels),
  );
  return first < 0 ? contractions.length : first;
}
