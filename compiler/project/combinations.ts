/** The combinations that shards can send each other, with what each is worth to the one that reads it. Changes no graph. */
import type { Division } from '../../runtime/lower/program.ts';
import { ownOutputs } from '../adjust/blocks.ts';
import type { Analysis } from '../analyse.ts';
import { type Contraction, findFitted, readWeights } from '../calibrate/contractions.ts';
import { type Gram, gramMatrices } from '../calibrate/gram.ts';
import { openProducts } from '../linearAlgebra/products.ts';
import { outputVariance } from '../select/scores.ts';
import { type SparsifySettings, sparsifyDefaults } from '../sparsifySettings.ts';
import { basis } from './basis.ts';
import { insertProjections, projectionNames } from './insertProjections.ts';
import type { ProjectedValue, Projection } from './projectable.ts';

/** A combination that one shard can send another. */
export interface Combination {
  readonly value: ProjectedValue;
  readonly projection: Projection;
  /** Of all channels of the value. */
  readonly row: Float64Array;
  readonly score: number;
}

/** All of them, the most telling first for each that reads them. Throws CALIBRATION_INVALID. */
export async function combinationsOf(
  analysis: Analysis,
  values: readonly ProjectedValue[],
  settings: SparsifySettings,
): Promise<readonly Combination[]> {
  const { ridge } = { ...sparsifyDefaults, ...settings };
  const grams = await gramsOf(analysis, values, settings);
  return values.flatMap((value) => {
    const gram = grams.get(value.value);
    return gram === undefined ? [] : ofValue(analysis, value, gram, ridge);
  });
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

function ofValue(
  analysis: Analysis,
  value: ProjectedValue,
  { matrix, width }: Gram,
  ridge: number,
): Combination[] {
  const readers = value.contractions.map((contraction) => readerOf(analysis, contraction, { matrix, width }));
  return value.projections.flatMap((projection) => {
    const directions = basis({
      gram: matrix,
      n: width,
      combined: projection.channels,
      known: [...projection.known, width - 1],
      weighed: weighed(analysis.division, readers, projection, width),
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

/** A contraction of what is combined; its taps are taken as independent. */
interface Reader {
  readonly contraction: Contraction;
  /** A row of weights for every output under every tap, 0 for the constant. */
  readonly rows: Float64Array;
  /** What an error of it counts, as in scores: relative to what it makes. */
  readonly factor: number;
}

function readerOf({ model, weights }: Analysis, contraction: Contraction, { matrix, width }: Gram): Reader {
  const { taps, inputChannels, outputChannels } = contraction;
  const stored = readWeights(model.graph, contraction);
  const rows = new Float64Array(outputChannels * taps * width);
  for (let output = 0; output < outputChannels; output++) {
    for (let channel = 0; channel < inputChannels; channel++) {
      const at = (output * inputChannels + channel) * taps;
      for (let tap = 0; tap < taps; tap++)
        rows[(output * taps + tap) * width + channel] = stored[at + tap] as number;
    }
  }
  return { contraction, rows, factor: (weights.get(contraction) ?? 0) / outputVariance(rows, matrix, width) };
}

/** What the reader's outputs of all contractions weigh of the combined channels. */
function weighed(
  division: Division,
  readers: readonly Reader[],
  { channels, reader }: Projection,
  width: number,
): Float64Array {
  const size = channels.length;
  const sum = new Float64Array(size * size);
  for (const { contraction, rows, factor } of readers) {
    const { taps } = contraction;
    for (const output of ownOutputs(division, contraction, reader) ?? []) {
      for (let row = output * taps; row < (output + 1) * taps; row++) {
        const own = channels.map((channel) => rows[row * width + channel] as number);
        own.forEach((left, i) => {
          for (let j = 0; j < size; j++)
            sum[i * size + j] = (sum[i * size + j] as number) + factor * left * (own[j] as number);
        });
      }
    }
  }
  return sum;
}
