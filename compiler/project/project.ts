/**
 * Combinations of a shard's features, to be sent in place of some of them: as many bytes and rounds tell another shard
 * more, for a product of 1 x 1 where they are made. Chooses nothing and adjusts nothing.
 */
import { fromIndices, type Ranges, range } from '../../graph/ranges.ts';
import type { Sharding } from '../../runtime/lower/program.ts';
import { ownOutputs } from '../adjust/blocks.ts';
import type { Target } from '../adjust/targets.ts';
import type { Analysis } from '../analyse.ts';
import { type Contraction, findFitted, readWeights } from '../calibrate/contractions.ts';
import { type Gram, gramMatrices } from '../calibrate/gram.ts';
import { openProducts } from '../linearAlgebra/products.ts';
import { type Feature, featureSources } from '../select/features.ts';
import { type Candidate, candidateKey } from '../select/scores.ts';
import { type SparsifySettings, sparsifyDefaults } from '../sparsifySettings.ts';
import { basis } from './basis.ts';
import { type Combined, insertProjections, projectionNames } from './insertProjections.ts';
import { type ProjectedValue, type Projection, projectable } from './projectable.ts';

/** What an analysis knows of combinations in its graph. */
export interface Projections {
  /** Values that nobody reads who could make them: who owns them has what they are made of. */
  readonly values: ReadonlySet<string>;
  /** Node that combines -> channels that each shard reads: its own. */
  readonly supports: ReadonlyMap<string, readonly Ranges[]>;
}

/** A combination that one shard can send another. */
interface Combination {
  readonly value: ProjectedValue;
  readonly projection: Projection;
  /** Of all channels of the value. */
  readonly row: Float64Array;
  readonly score: number;
}

export interface Projecting {
  /** With every combination, scored, in place of the features that can be combined. */
  readonly analysis: Analysis;
  /** With no other combinations than the chosen ones, and features as they are where all or none of a value's were chosen. */
  only(chosen: readonly Candidate[]): {
    readonly analysis: Analysis;
    readonly chosen: readonly Candidate[];
  };
}

/** Undefined where nothing can be combined. Throws CALIBRATION_INVALID. */
export async function project(
  analysis: Analysis,
  settings: SparsifySettings,
): Promise<Projecting | undefined> {
  const values = projectable(analysis);
  if (values.length === 0) return undefined;
  const { ridge } = { ...sparsifyDefaults, ...settings };
  const grams = await gramsOf(analysis, values, settings);
  const combinations = values.flatMap((value) => {
    const gram = grams.get(value.value);
    return gram === undefined ? [] : combinationsOf(analysis, value, gram, ridge);
  });
  const replaced = new Set(
    values.flatMap((value) =>
      value.projections.flatMap((projection) =>
        featuresOf(analysis, value, projection).map((feature) => candidateKey(feature, projection.reader)),
      ),
    ),
  );
  const isReplaced = ({ feature, reader }: Candidate) => replaced.has(candidateKey(feature, reader));
  const as = (list: readonly Combination[]) => withCombinations(analysis, list);
  const all = as(combinations);
  const plain = analysis.candidates.filter((candidate) => !isReplaced(candidate));
  return {
    analysis: { ...all.analysis, candidates: [...plain, ...all.candidates] },
    only(chosen) {
      const keys = new Set(chosen.map(({ feature, reader }) => candidateKey(feature, reader)));
      const taken = combinations.filter((_, i) => {
        const candidate = all.candidates[i];
        return candidate !== undefined && keys.has(candidateKey(candidate.feature, candidate.reader));
      });
      const isPartial = (value: ProjectedValue) =>
        value.projections.some((projection) => {
          const count = taken.filter((combination) => combination.projection === projection).length;
          return count > 0 && count < projection.channels.length;
        });
      // Not some combined and some not: what they are made of would have to wait for what is not.
      const partial = new Set(values.filter(isPartial));
      const wholes = taken.flatMap(({ value, projection }) =>
        partial.has(value)
          ? []
          : featuresOf(analysis, value, projection).map((feature) =>
              candidateKey(feature, projection.reader),
            ),
      );
      const whole = new Set(wholes);
      const made = as(taken.filter(({ value }) => partial.has(value)));
      const asTheyAre = analysis.candidates.filter((candidate) => {
        const key = candidateKey(candidate.feature, candidate.reader);
        return whole.has(key) || (keys.has(key) && !isReplaced(candidate));
      });
      return { analysis: made.analysis, chosen: [...asTheyAre, ...made.candidates] };
    },
  };
}

/** The features that a projection combines. */
function featuresOf(
  { sources }: Analysis,
  { contractions }: ProjectedValue,
  { channels }: Projection,
): readonly Feature[] {
  const list = sources.get(contractions[0]) ?? [];
  return channels.flatMap((channel) => {
    const source = list[channel];
    return source === undefined || source === 'everywhere' ? [] : [source];
  });
}

/** `candidates` are the combinations, in their order; those of the analysis stay what a dense exchange sends. */
function withCombinations(
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

/** Second moments of the channels of each value that is combined. */
async function gramsOf(
  { model, held }: Analysis,
  values: readonly ProjectedValue[],
  settings: SparsifySettings,
): Promise<ReadonlyMap<string, Gram>> {
  const { rows, seed } = { ...sparsifyDefaults, ...settings };
  const { backend } = settings;
  // What combines reads each channel under one tap, so its rows are those that are wanted; its weights do not matter.
  const graph = insertProjections(
    model.graph,
    values.map((projected) => ({ projected, rows: [new Float64Array(projected.channels)] })),
  );
  const named = new Map(values.map(({ value }) => [projectionNames(value).node, value]));
  const combining = findFitted(graph).filter(({ node }) => named.has(node.name));
  const products = await openProducts(backend);
  try {
    const grams = await gramMatrices(combining, {
      model: { ...model, graph },
      backend,
      products,
      calibration: held,
      rows,
      seed,
    });
    return new Map([...grams].map(([{ node }, gram]) => [named.get(node.name) ?? '', gram]));
  } finally {
    await products.release();
  }
}

function combinationsOf(
  analysis: Analysis,
  value: ProjectedValue,
  { matrix, width }: Gram,
  ridge: number,
): Combination[] {
  return value.projections.flatMap((projection) => {
    const directions = basis({
      gram: matrix,
      n: width,
      combined: projection.channels,
      known: [...projection.known, width - 1],
      weighed: weighed(analysis, value.contractions, projection, { matrix, width }),
      ridge,
    });
    return directions.map(({ row: coefficients, explained }) => {
      const row = new Float64Array(value.channels);
      projection.channels.forEach((channel, i) => {
        row[channel] = coefficients[i] ?? 0;
      });
      return { value, projection, row, score: explained };
    });
  });
}

/** What the reader's outputs of all contractions weigh of the combined channels, as scores do: relative to what each makes. */
function weighed(
  { model, division, weights }: Analysis,
  contractions: readonly Contraction[],
  { channels, reader }: Projection,
  { matrix, width }: Gram,
): Float64Array {
  const size = channels.length;
  const sum = new Float64Array(size * size);
  for (const contraction of contractions) {
    const { taps, inputChannels, outputChannels } = contraction;
    const all = readWeights(model.graph, contraction);
    const columns = inputChannels * taps;
    const part = new Float64Array(size * size);
    let energy = 0;
    for (let output = 0; output < outputChannels; output++) {
      for (let tap = 0; tap < taps; tap++)
        energy += variance(all, output * columns + tap, contraction, { matrix, width });
    }
    for (const output of ownOutputs(division, contraction, reader) ?? []) {
      for (let tap = 0; tap < taps; tap++) {
        const at = (channel: number) => all[output * columns + channel * taps + tap] ?? 0;
        const own = channels.map(at);
        for (let i = 0; i < size; i++) {
          const factor = own[i] ?? 0;
          for (let j = 0; j < size; j++)
            part[i * size + j] = (part[i * size + j] as number) + factor * (own[j] ?? 0);
        }
      }
    }
    const factor = (weights.get(contraction) ?? 0) / Math.max(energy, Number.MIN_VALUE);
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + factor * (part[i] as number);
  }
  return sum;
}

/** Of one output under one tap: taps are taken as independent. */
function variance(
  weights: Float64Array,
  start: number,
  { taps, inputChannels }: Contraction,
  { matrix, width }: Gram,
): number {
  const constant = width - 1;
  let [square, mean] = [0, 0];
  for (let i = 0; i < inputChannels; i++) {
    const left = weights[start + i * taps] as number;
    mean += left * (matrix[i * width + constant] as number);
    for (let j = 0; j < inputChannels; j++)
      square += left * (matrix[i * width + j] as number) * (weights[start + j * taps] as number);
  }
  return square - mean * mean;
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
