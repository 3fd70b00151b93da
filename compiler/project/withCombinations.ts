/** An analysis with combinations of features in its graph, each made by the shard that owns what it combines. */
import { fromIndices, type Ranges, range } from '../../graph/ranges.ts';
import type { Sharding } from '../../runtime/lower/program.ts';
import type { Target } from '../adjust/targets.ts';
import type { Analysis } from '../analyse.ts';
import { type Contraction, findFitted } from '../calibrate/contractions.ts';
import { featureSources } from '../select/features.ts';
import type { Candidate } from '../select/scores.ts';
import type { Combination } from './combinations.ts';
import { type Combined, insertProjections, projectionNames } from './insertProjections.ts';
import type { ProjectedValue } from './projectable.ts';

/** What an analysis knows of combinations in its graph. */
export interface Projections {
  /** Values that nobody reads who could make them: who owns them has what they are made of. */
  readonly values: ReadonlySet<string>;
  /** Node that combines -> channels that each shard reads: its own. */
  readonly supports: ReadonlyMap<string, readonly Ranges[]>;
}

/** `candidates` are the combinations, in their order; those of the analysis stay what a dense exchange sends. */
export function withCombinations(
  analysis: Analysis,
  list: readonly Combination[],
): { readonly analysis: Analysis; readonly candidates: readonly Candidate[] } {
  const { numShards } = analysis.division;
  const byValue = new Map<ProjectedValue, Combination[]>();
  for (const combination of list)
    byValue.set(combination.value, [...(byValue.get(combination.value) ?? []), combination]);
  const shardings = new Map<string, Sharding>(analysis.division.shardings);
  const supports = new Map<string, readonly Ranges[]>();
  const combined: Combined[] = [];
  for (const [projected, of] of byValue) {
    const { node, output } = projectionNames(projected.value);
    const owners = of.map(({ projection }) => projection.owner);
    combined.push({ projected, rows: of.map(({ row }) => row) });
    shardings.set(output, { axis: projected.axis, parts: partsOf(owners, numShards) });
    supports.set(node, readOf(projected, numShards));
  }
  return {
    analysis: projectedAnalysis(analysis, combined, shardings, {
      values: new Set(combined.map(({ projected }) => projectionNames(projected.value).output)),
      supports,
    }),
    candidates: list.map((combination) => {
      const { value, projection, score } = combination;
      const channel = byValue.get(value)?.indexOf(combination) ?? 0;
      const feature = { value: projectionNames(value.value).output, channel, owner: projection.owner };
      return { feature, reader: projection.reader, score };
    }),
  };
}

function partsOf(owners: readonly number[], numShards: number): Ranges[] {
  return Array.from({ length: numShards }, (_, shard) =>
    fromIndices(owners.flatMap((owner, row) => (owner === shard ? [row] : []))),
  );
}

/** Of the channels each shard those that it combines; one where there are none: no operator works on none. */
function readOf({ projections, channels }: ProjectedValue, numShards: number): Ranges[] {
  return Array.from({ length: numShards }, (_, shard) => {
    const own = projections.find(({ owner }) => owner === shard)?.channels ?? [];
    return own.length > 0 ? fromIndices([...own]) : range(0, Math.min(1, channels));
  });
}

function projectedAnalysis(
  analysis: Analysis,
  combined: readonly Combined[],
  shardings: ReadonlyMap<string, Sharding>,
  projections: Projections,
): Analysis {
  const graph = insertProjections(analysis.model.graph, combined);
  const division = { ...analysis.division, shardings };
  const found = new Map(findFitted(graph).map((contraction) => [contraction.node.name, contraction]));
  const renewed = <T>(map: ReadonlyMap<Contraction, T>): Map<Contraction, T> =>
    new Map([...map].map(([old, value]) => [found.get(old.node.name) ?? old, value]));
  const contractions = analysis.contractions.map((old) => found.get(old.node.name) ?? old);
  return {
    ...analysis,
    model: { ...analysis.model, graph },
    division,
    contractions,
    sources: featureSources(graph, division, contractions),
    weights: renewed(analysis.weights),
    targets: renewed<Target>(analysis.targets),
    dense: renewed(analysis.dense),
    projections,
  };
}
