/** The combinations that shards can send each other, with what each is worth to the one that reads it. Changes no graph. */
import { ownOutputs } from '../adjust/blocks.ts';
import type { Analysis } from '../analyse.ts';
import { type Contraction, findFitted, readWeights } from '../calibrate/contractions.ts';
import { type Gram, gramMatrices } from '../calibrate/gram.ts';
import { openProducts } from '../linearAlgebra/products.ts';
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
