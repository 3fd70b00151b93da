/**
 * A dense division by channels made sparse after training, without labels: calibrate, assign, select, adjust. `analyse`
 * does what all budgets share, `choose` spends one and `thin` adjusts to it; `sparsify` is all three. Lowers and measures nothing.
 */
import type { Graph, Model } from '../graph/graph.ts';
import { shapedValues, viewNode } from '../graph/nodeView.ts';
import { ruleOf } from '../graph/ops/rules.ts';
import { seededRandom } from '../graph/random.ts';
import { fromIndices, type Ranges } from '../graph/ranges.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import type { Division } from '../runtime/lower/program.ts';
import { type Adjusted, adjust, type Reads } from './adjust/adjust.ts';
import { type DenseTargets, denseTargets } from './adjust/denseTargets.ts';
import { valuesFor } from './adjust/rows.ts';
import { type Target, targetsOf } from './adjust/targets.ts';
import { assignOwners, crossingEnergy } from './assign/assignOwners.ts';
import { energyBlocks } from './assign/energyBlocks.ts';
import { assertCalibration, type Calibration } from './calibrate/calibration.ts';
import { type Contraction, findContractions } from './calibrate/contractions.ts';
import { gramMatrices } from './calibrate/gram.ts';
import { heldSamples } from './calibrate/heldSamples.ts';
import { walkBytesPerSample } from './calibrate/walk.ts';
import { channelClasses } from './divide/channelSpaces.ts';
import { classGroups, contiguousOwners, divisionByOwners, equalCapacities } from './divide/divideChannels.ts';
import { channelAxes } from './divide/followAxes.ts';
import { openProducts } from './linearAlgebra/products.ts';
import { type Budget, featureBytes, spend } from './select/budget.ts';
import { featureSources, type Source } from './select/features.ts';
import { roundsByDepth } from './select/rounds.ts';
import { type Candidate, candidateKey, scoreContraction } from './select/scores.ts';
import { sensitivities } from './select/sensitivity.ts';

export type SparsifyStep = 'calibrate' | 'weigh' | 'assign' | 'score' | 'select' | 'adjust';

export interface SparsifySettings {
  readonly numShards: number;
  /** Shares of the shards, such as [3, 1]; equal without it. */
  readonly capacities?: readonly number[];
  readonly calibration: Calibration;
  readonly backend: Backend;
  /** Whether the model takes batches of any size. Default true. */
  readonly openBatch?: boolean;
  /** Bytes per element on the wire, where it is not the values' own type. */
  readonly wireBytes?: number;
  /** Rows of least squares per contraction. Default 40,000. */
  readonly rows?: number;
  /** Pull towards the old weights, relative to the mean diagonal of the Gram matrix. Default 1e-4. */
  readonly ridge?: number;
  /** Sweeps over the rows in which what a rectifier cuts off is left out of the error. Default 8. */
  readonly sweeps?: number;
  /** Sweeps for the scores of a classifier. Default 100. */
  readonly scoreSweeps?: number;
  /** Random beginnings of the assignment. Default 20. */
  readonly restarts?: number;
  /** Samples on which the outputs' sensitivity to each contraction is measured. Default: at most 128, fewer for large models. */
  readonly sensitivitySamples?: number;
  /**
   * Bytes of activations kept between layers, and of rows: of more samples than they hold an even selection is adjusted to.
   * Default 1 GiB.
   */
  readonly keptBytes?: number;
  readonly seed?: number;
  readonly onProgress?: (step: SparsifyStep, done: number, total: number) => void;
}

export interface Analysis {
  readonly model: Model;
  /** Owners as assigned; dense. */
  readonly division: Division;
  readonly contractions: readonly Contraction[];
  readonly sources: ReadonlyMap<Contraction, readonly Source[]>;
  readonly candidates: readonly Candidate[];
  /** The samples that the weights are adjusted to, as many as fit, and what the dense model makes of them. */
  readonly held: Calibration;
  readonly targets: ReadonlyMap<Contraction, Target>;
  readonly dense: DenseTargets;
  /** Weighted energy that crosses before and after assigning, of all there is. */
  readonly crossing: { readonly before: number; readonly after: number; readonly total: number };
}

export interface SparsifyReport {
  /** Features sent over all exchanges, and those that a dense division sends. */
  readonly sentFeatures: number;
  readonly denseFeatures: number;
  readonly sentBytes: number;
  readonly denseBytes: number;
  /** Rounds that carry anything, counted by depth. */
  readonly rounds: number;
  readonly denseRounds: number;
  readonly crossing: Analysis['crossing'];
  /** Node name -> share of its target's variance that is missed on the calibration inputs. */
  readonly errors: Readonly<Record<string, number>>;
}

export interface Sparsified {
  readonly model: Model;
  readonly division: Division;
  readonly report: SparsifyReport;
}

const defaults = {
  rows: 40_000,
  ridge: 1e-4,
  sweeps: 8,
  scoreSweeps: 100,
  restarts: 20,
  keptBytes: 2 ** 30,
  openBatch: true,
  seed: 1,
} as const;

const sensitivityBatch = 32;

/** As many as about 3e11 multiply-accumulates pay for, one run of the model per contraction. */
function sensitivitySamples(graph: Graph, contractions: number): number {
  const values = shapedValues(graph);
  const macs = graph.nodes.reduce(
    (sum, node) => sum + (ruleOf(node)?.macs?.(viewNode(graph, values, node)) ?? 0),
    0,
  );
  return Math.min(128, Math.max(2, Math.floor(3e11 / Math.max(1, macs * contractions))));
}

/** `model` is normalised. Throws CALIBRATION_INVALID and BUDGET_INVALID (capacities). */
export async function analyse(model: Model, settings: SparsifySettings): Promise<Analysis> {
  const { numShards, calibration, backend, onProgress = () => {} } = settings;
  const { rows, ridge, restarts, keptBytes, openBatch, seed } = { ...defaults, ...settings };
  assertCalibration(calibration);
  const capacities = capacitiesOf(settings);
  const { graph } = model;
  const contractions = findContractions(graph);
  const products = await openProducts(backend);
  try {
    const grams = await gramMatrices(contractions, {
      model,
      backend,
      products,
      calibration,
      rows,
      seed,
      onSamples: (done) => onProgress('calibrate', done, calibration.samples),
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
        calibration,
        settings.sensitivitySamples ?? sensitivitySamples(graph, contractions.length),
        openBatch ? sensitivityBatch : 1,
      ),
      backend,
      ridge,
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
    for (const [index, [contraction, gram]] of [...grams].entries()) {
      scoreContraction(contraction, gram, { graph, division, sources, ridge, weight }, scores);
      onProgress('score', index + 1, grams.size);
    }
    const targets = targetsOf(graph, contractions);
    const steps = [...targets].map(([contraction, target]) => valuesFor(contraction, target));
    const fitting = Math.max(1, Math.floor(keptBytes / Math.max(1, walkBytesPerSample(graph, steps))));
    const held = await heldSamples(calibration, fitting);
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

/** The features that a budget buys. Throws BUDGET_INVALID. */
export function choose(
  { model, division, contractions, candidates }: Analysis,
  budget: Budget,
  wireBytes?: number,
): readonly Candidate[] {
  const bytesOf = featureBytes(model.graph, division, wireBytes);
  return spend(candidates, budget, bytesOf, roundsByDepth(model.graph, contractions));
}

/** Sends only `chosen`, some of the analysis' candidates, and adjusts the weights to it. Throws CALIBRATION_INVALID. */
export async function thin(
  analysis: Analysis,
  chosen: readonly Candidate[],
  settings: SparsifySettings,
): Promise<Sparsified> {
  const { model, division, contractions, candidates, targets, dense, held } = analysis;
  const { backend, onProgress = () => {} } = settings;
  const reads = readsOf(analysis, chosen);
  const products = await openProducts(backend);
  let adjusted: Adjusted;
  try {
    adjusted = await adjust({
      ...defaults,
      ...settings,
      model,
      division,
      contractions,
      calibration: held,
      targets,
      dense,
      reads,
      products,
      onContraction: (done, total) => onProgress('adjust', done, total),
    });
  } finally {
    await products.release();
  }
  const bytesOf = featureBytes(model.graph, division, settings.wireBytes);
  const roundOf = roundsByDepth(model.graph, contractions);
  const bytes = (list: readonly Candidate[]) => list.reduce((sum, candidate) => sum + bytesOf(candidate), 0);
  return {
    model: adjusted.model,
    division: { ...division, supports: supportsOf(analysis, reads) },
    report: {
      sentFeatures: chosen.length,
      denseFeatures: candidates.length,
      sentBytes: bytes(chosen),
      denseBytes: bytes(candidates),
      rounds: new Set(chosen.map(roundOf)).size,
      denseRounds: new Set(candidates.map(roundOf)).size,
      crossing: analysis.crossing,
      errors: Object.fromEntries([...adjusted.errors].map(([{ node }, error]) => [node.name, error])),
    },
  };
}

/** Throws BUDGET_INVALID and CALIBRATION_INVALID. */
export async function sparsify(
  model: Model,
  budget: Budget,
  settings: SparsifySettings,
): Promise<Sparsified> {
  const analysis = await analyse(model, settings);
  const chosen = choose(analysis, budget, settings.wireBytes);
  settings.onProgress?.('select', chosen.length, analysis.candidates.length);
  return thin(analysis, chosen, settings);
}

function capacitiesOf({ numShards, capacities }: SparsifySettings): readonly number[] {
  if (capacities === undefined) return equalCapacities(numShards);
  const valid = capacities.length === numShards && capacities.every((share) => share > 0);
  if (valid) return capacities;
  throw new StarlingError(
    'BUDGET_INVALID',
    `Capacities are expected to be ${numShards} positive numbers, one per shard, got ${capacities.join()}.`,
  );
}

/** Own channels, those that are everywhere, and the chosen ones; all where the output has no owners. */
function readsOf({ contractions, sources, division }: Analysis, chosen: readonly Candidate[]): Reads {
  const sent = new Set(chosen.map(({ feature, reader }) => candidateKey(feature, reader)));
  const reads = (contraction: Contraction, source: Source, shard: number) =>
    !division.shardings.has(contraction.output) ||
    source === 'everywhere' ||
    source.owner === shard ||
    sent.has(candidateKey(source, shard));
  return new Map(
    contractions.map((contraction) => [
      contraction,
      Array.from({ length: division.numShards }, (_, shard) =>
        (sources.get(contraction) ?? []).flatMap((source, channel) =>
          reads(contraction, source, shard) ? [channel] : [],
        ),
      ),
    ]),
  );
}

/** Only for contractions whose output is divided and that some shard does not read whole. */
function supportsOf({ division }: Analysis, reads: Reads): ReadonlyMap<string, readonly Ranges[]> {
  return new Map(
    [...reads].flatMap(([contraction, channels]) => {
      const divided = division.shardings.has(contraction.output);
      const thinned = channels.some((list) => list.length < contraction.inputChannels);
      return divided && thinned ? [[contraction.node.name, channels.map(fromIndices)] as const] : [];
    }),
  );
}
