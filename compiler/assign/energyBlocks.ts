/** The energy that each input channel adds to each output channel of a contraction, from its weights and second moments. */
import type { Graph } from '../../graph/graph.ts';
import { type Contraction, readWeights } from '../calibrate/contractions.ts';
import type { Gram } from '../calibrate/gram.ts';
import type { ChannelClasses } from '../divide/channelSpaces.ts';
import type { EnergyBlock } from './assignOwners.ts';

/**
 * Energy of what varies: a constant share costs nothing to lose, the bias takes it over. outputs x inputs, row-major.
 * Relative to all energy of the contraction, so that layers of different scale count alike.
 */
function relativeEnergy(graph: Graph, contraction: Contraction, { matrix, width }: Gram): Float64Array {
  const { outputChannels, inputChannels, taps } = contraction;
  const weights = readWeights(graph, contraction);
  const energy = new Float64Array(outputChannels * inputChannels);
  const covariance = new Float64Array(taps * taps);
  const mean = (column: number) => matrix[column * width + width - 1] ?? 0;
  let total = 0;
  for (let input = 0; input < inputChannels; input++) {
    const first = input * taps;
    for (let s = 0; s < taps; s++) {
      for (let t = 0; t < taps; t++)
        covariance[s * taps + t] =
          (matrix[(first + s) * width + first + t] ?? 0) - mean(first + s) * mean(first + t);
    }
    for (let output = 0; output < outputChannels; output++) {
      const start = output * (width - 1) + first;
      let sum = 0;
      for (let s = 0; s < taps; s++) {
        const left = weights[start + s] as number;
        for (let t = 0; t < taps; t++)
          sum += left * (covariance[s * taps + t] as number) * (weights[start + t] as number);
      }
      energy[output * inputChannels + input] = sum;
      total += sum;
    }
  }
  return total > 0 ? energy.map((value) => value / total) : energy;
}

/** Blocks of the contractions both of whose ends are divided. `weight` is what one contraction counts against others. */
export function energyBlocks(
  graph: Graph,
  grams: ReadonlyMap<Contraction, Gram>,
  classes: ChannelClasses,
  weight: (contraction: Contraction) => number,
): readonly EnergyBlock[] {
  return [...grams].flatMap(([contraction, gram]) => {
    const inputs = classes.get(contraction.input);
    const outputs = classes.get(contraction.output);
    if (inputs === undefined || outputs === undefined) return [];
    const factor = weight(contraction);
    const energy = relativeEnergy(graph, contraction, gram).map((value) => value * factor);
    return [{ inputs, outputs, energy }];
  });
}
