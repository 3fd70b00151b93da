/**
 * Combinations of a shard's features, to be sent in place of some of them: as many bytes and rounds tell another shard
 * more, for a product of 1 x 1 where they are made. Chooses nothing and adjusts nothing.
 */
import type { Analysis } from '../analyse.ts';
import type { Feature } from '../select/features.ts';
import { type Candidate, candidateKey } from '../select/scores.ts';
import type { SparsifySettings } from '../sparsifySettings.ts';
import { type Combination, combinationsOf } from './combinations.ts';
import { type ProjectedValue, type Projection, projectable } from './projectable.ts';
import { withCombinations } from './withCombinations.ts';

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
  const combinations = await combinationsOf(analysis, values, settings);
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
