/**
 * What all budgets of a sparse division share: Gram matrices, owners, what every feature is worth, and what the dense model
 * makes of the samples that the weights will be adjusted to.
 */
import type { Model } from '../graph/graph.ts';
import { seededRandom } from '../graph/random.ts';
import type { Division } from '../runtime/lower/program.ts';
import { type DenseTargets, denseTargets } from './adjust/denseTargets.ts';
import { valuesFor } from './adjust/rows.ts';
import { type Target, targetsOf } from './adjust/targets.ts';
import { assignOwners, crossingEnergy } from './assign/assignOwners.ts';
import { energyBlocks } from './assign/energyBlocks.ts';
import { assertCalibration, type Calibration } from './calibrate/calibration.ts';
import { type Contraction, findFitted } from './calibrate/contractions.ts';
import { gramMatrices } from './calibrate/gram.ts';
import { heldSamples } from './calibrate/heldSamples.ts';
import type { Batch } from './calibrate/prefix.ts';
import { splitCalibration } from './calibrate/splitCalibration.ts';
import { walkBytesPerSample } from './calibrate/walk.ts';
import { channelClasses } from './divide/channelSpaces.ts';
import { classGroups, contiguousOwners, divisionByOwners } from './divide/divideChannels.ts';
import { channelAxes } from './divide/followAxes.ts';
import { openProducts } from './linearAlgebra/products.ts';
import type { Projections } from './project/withCombinations.ts';
import { type Column, contractionColumns } from './select/columns.ts';
import { featureSources, type Source } from './select/features.ts';
import { judgedSamples, sensitivitySamples } from './select/sampleCounts.ts';
import { type Candidate, lossesOf, scoreContraction } from './select/scores.ts';
import { sensitivities } from './select/sensitivity.ts';
import { capacitiesOf, type SparsifySettings, sparsifyDefaults } from './sparsifySettings.ts';

export interface Analysis {
  readonly model: Model;
  /** Owners as assigned; dense. */
  readonly division: Division;
  /** Those that may be thinned. */
  readonly contractions: readonly Contraction[];
  readonly sources: ReadonlyMap<Contraction, readonly Source[]>;
  readonly candidates: readonly Candidate[];
  /** What a relative error of each contraction does to the outputs, in the dense model. */
  readonly weights: ReadonlyMap<Contraction, number>;
  /** Inputs that nothing is fitted to, to judge selections by; where there is one batch only, those that all is fitted to. */
  readonly judged: readonly Batch[];
  /** What every input channel of every contraction is worth to every shard, its own too; only where weights are pruned. */
  readonly columns: readonly Column[];
  /** The samples that the weights are adjusted to, as many as fit, and what the dense model makes of them. */
  readonly held: Calibration;
  /** Of all that are fitted, in the graph's order. */
  readonly targets: ReadonlyMap<Contraction, Target>;
  readonly dense: DenseTargets;
  /** Where combinations of features travel in place of some. */
  readonly projections?: Projections;
  /** Weighted energy that crosses before and after assigning, of all there is. */
  readonly crossing: { readonly before: number; readonly after: number; readonly total: number };
}

const sensitivityBatch = 32;

async function batchesOf(calibration: Calibration): Promise<readonly Batch[]> {
  const batches: Batch[] = [];
  for await (const batch of calibration.batches()) batches.push(batch);
  return batches;
}

/** `model` is normalised. Throws CALIBRATION_INVALID and BUDGET_INVALID (capacities). */
export async function analyse(model: Model, settings: SparsifySettings): Promise<Analysis> {
  const { numShards, backend, onProgress = () => {} } = settings;
  const { rows, ridge, restarts, keptBytes, openBatch, seed } = { ...sparsifyDefaults, ...settings };
  assertCalibration(settings.calibration);
  const { fitted: calibration, heldOut } = await splitCalibration(
    settings.calibration,
    judgedSamples(model.graph),
  );
  const capacities = capacitiesOf(settings);
  const { graph } = model;
  const fitted = findFitted(graph);
  const contractions = fitted.filter(({ depthwise }) => !depthwise);
  const targets = targetsOf(graph, fitted);
  const steps = [...targets].map(([contraction, target]) => valuesFor(contraction, target));
  const fitting = Math.max(1, Math.floor(keptBytes / Math.max(1, walkBytesPerSample(graph, steps))));
  // All that follows reads these alone: what cannot be fitted to is not worth a run of the model either.
  const held = await heldSamples(calibration, fitting);
  const products = await openProducts(backend);
  try {
    const grams = await gramMatrices(contractions, {
      model,
      backend,
      products,
      calibration: held,
      rows,
      seed,
      onSamples: (done) => onProgress('calibrate', done, held.samples),
    });
    const axes = channelAxes(graph, openBatch);
    const classes = channelClasses(axes, numShards);
    const start = contiguousOwners(classes, capacities);
    const contiguous = divisionByOwners(axes, classes, start, numShards);
    const ratios = await sensitivities({
      model,
      division: contiguous,
      grams,
      sources: featureSources(graph, contiguous, contractions),
      calibration: await heldSamples(
        held,
        settings.sensitivitySamples ?? sensitivitySamples(graph, contractions.length),
        openBatch ? sensitivityBatch : 1,
      ),
      backend,
      ridge,
      keptBytes,
      onContraction: (done, total) => onProgress('weigh', done, total),
    });
    const weight = (contraction: Contraction) => ratios.get(contraction) ?? 0;
    const blocks = energyBlocks(graph, grams, classes, weight);
    const owners = assignOwners(
      { numShards, groups: classGroups(classes), blocks },
      start,
      restarts,
      seededRandom(seed),
    );
    onProgress('assign', 1, 1);
    const division = divisionByOwners(axes, classes, owners, numShards);
    const sources = featureSources(graph, division, contractions);
    const scores = new Map<string, Candidate>();
    const columns: Column[] = [];
    for (const [index, [contraction, gram]] of [...grams].entries()) {
      const input = { graph, division, sources, ridge, weight };
      const losses = lossesOf(contraction, gram, input);
      scoreContraction(contraction, losses, input, scores);
      if (settings.sparsity !== undefined) columns.push(...contractionColumns(contraction, losses, input));
      onProgress('score', index + 1, grams.size);
    }
    const dense = await denseTargets({ model, targets, calibration: held, backend, rows, keptBytes, seed });
    return {
      model,
      division,
      contractions,
      sources,
      held,
      targets,
      dense,
      candidates: [...scores.values()],
      weights: ratios,
      judged: heldOut.length > 0 ? heldOut : await batchesOf(held),
      columns,
      crossing: {
        before: crossingEnergy(blocks, start),
        after: crossingEnergy(blocks, owners),
        total: blocks.reduce((sum, { energy }) => sum + energy.reduce((a, b) => a + b, 0), 0),
      },
    };
  } finally {
    await products.release();
  }
}
