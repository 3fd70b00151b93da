/**
 * Spends one budget on the features of an analysed division, and adjusts its weights to what is sent. Of several ways to
 * spend a budget it knows one: which is best is chooseBest.ts's.
 */
import type { Model } from '../graph/graph.ts';
import { fromIndices, type Ranges } from '../graph/ranges.ts';
import type { WireChoice } from '../protocol/compileChoices.ts';
import type { Division } from '../runtime/lower/program.ts';
import { type Adjusted, type AdjustOptions, adjust, type Reads } from './adjust/adjust.ts';
import type { Analysis } from './analyse.ts';
import type { Contraction } from './calibrate/contractions.ts';
import { openProducts } from './linearAlgebra/products.ts';
import { type Budget, featureBytes, keptBytes, spend } from './select/budget.ts';
import type { Source } from './select/features.ts';
import { fitBudget, isWithin } from './select/fitBudget.ts';
import { pruneReads } from './select/pruneReads.ts';
import { roundsByDepth } from './select/rounds.ts';
import { type Candidate, candidateKey } from './select/scores.ts';
import { type SparsifySettings, sparsifyDefaults } from './sparsifySettings.ts';
import { exchangeCost, lowerEach } from './wire/exchangeCost.ts';
import { wireBytes } from './wire/narrowWires.ts';

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

/** The features that a budget buys. Throws BUDGET_INVALID where it cannot be met. */
export function choose(
  analysis: Analysis,
  budget: Budget,
  wire: WireChoice = 'float32',
): readonly Candidate[] {
  const { model, division, contractions, candidates } = analysis;
  const bytesOf = featureBytes(model.graph, division, wireBytes[wire]);
  const roundOf = roundsByDepth(model.graph, contractions);
  return fitBudget(
    budget,
    (asked) => spend(candidates, asked, bytesOf, roundOf),
    (chosen) => exchangeCost(lowerEach(model.graph, thinnedDivision(analysis, chosen), wire)),
  );
}

/** Whether the division that sends only some features holds a budget. */
export function within(
  analysis: Analysis,
  budget: Budget,
  wire: WireChoice = 'float32',
): (chosen: readonly Candidate[]) => boolean {
  const {
    model: { graph },
    division,
    candidates,
  } = analysis;
  const bytesOf = featureBytes(graph, division, wireBytes[wire]);
  const allowed =
    budget.keep === undefined ? Number.POSITIVE_INFINITY : keptBytes(budget.keep, candidates, bytesOf);
  return (chosen) =>
    chosen.reduce((sum, candidate) => sum + bytesOf(candidate), 0) <= allowed * (1 + 1e-9) &&
    isWithin(budget, () => exchangeCost(lowerEach(graph, thinnedDivision(analysis, chosen), wire)));
}

/** The division that sends only `chosen`. */
export function thinnedDivision(analysis: Analysis, chosen: readonly Candidate[]): Division {
  return divisionOf(analysis, readsOf(analysis, chosen));
}

function divisionOf(analysis: Analysis, reads: Reads): Division {
  const { division, projections } = analysis;
  return {
    ...division,
    supports: new Map([...supportsOf(analysis, reads), ...(projections?.supports ?? [])]),
  };
}

/** Sends only `chosen`, some of the analysis' candidates, and adjusts the weights to it; `onFit` is told every contraction's fit, also of
 * those that read everything. Throws CALIBRATION_INVALID. */
export async function thin(
  analysis: Analysis,
  chosen: readonly Candidate[],
  settings: SparsifySettings,
  onFit?: AdjustOptions['onFit'],
): Promise<Sparsified> {
  const { model, division, contractions, candidates, targets, dense, held } = analysis;
  const { backend, onProgress = () => {} } = settings;
  const reads = pruned(analysis, readsOf(analysis, chosen), settings.sparsity);
  const products = await openProducts(backend);
  let adjusted: Adjusted;
  try {
    adjusted = await adjust({
      ...sparsifyDefaults,
      ...settings,
      model,
      division,
      contractions: [...targets.keys()],
      calibration: held,
      targets,
      dense,
      reads,
      products,
      ...(onFit === undefined ? {} : { onFit }),
      onContraction: (done, total) => onProgress('adjust', done, total),
    });
  } finally {
    await products.release();
  }
  const bytesOf = featureBytes(model.graph, division, wireBytes[settings.wire ?? 'float32']);
  const roundOf = roundsByDepth(model.graph, contractions);
  const bytes = (list: readonly Candidate[]) => list.reduce((sum, candidate) => sum + bytesOf(candidate), 0);
  return {
    model: adjusted.model,
    division: divisionOf(analysis, reads),
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

/**
 * Own channels (but no combinations of them), those that are everywhere, and the chosen ones; all where the output has no
 * owners. A shard that would read nothing reads one channel: no operator works on none.
 */
function readsOf(
  { contractions, sources, division, projections }: Analysis,
  chosen: readonly Candidate[],
): Reads {
  const sent = new Set(chosen.map(({ feature, reader }) => candidateKey(feature, reader)));
  const reads = (contraction: Contraction, source: Source, shard: number) =>
    !division.shardings.has(contraction.output) ||
    source === 'everywhere' ||
    (source.owner === shard && projections?.values.has(source.value) !== true) ||
    sent.has(candidateKey(source, shard));
  return new Map(
    contractions.map((contraction) => [
      contraction,
      Array.from({ length: division.numShards }, (_, shard) => {
        const channels = (sources.get(contraction) ?? []).flatMap((source, channel) =>
          reads(contraction, source, shard) ? [channel] : [],
        );
        return channels.length > 0 ? channels : [0];
      }),
    ]),
  );
}

/** Throws BUDGET_INVALID. */
function pruned(analysis: Analysis, reads: Reads, sparsity: number | undefined): Reads {
  if (sparsity === undefined) return reads;
  const { model, columns, sources } = analysis;
  return pruneReads(reads, sparsity, {
    graph: model.graph,
    columns,
    sources,
    macsOf: (kept) => {
      const thinned = divisionOf(analysis, kept);
      return lowerEach(model.graph, thinned, 'float32').programs.reduce((sum, { macs }) => sum + macs, 0);
    },
  });
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
