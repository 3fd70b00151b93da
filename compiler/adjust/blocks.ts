/** The blocks of a contraction's matrix that a sparse division keeps: for each shard, its rows and the columns it may read. */

import { toIndices } from '../../graph/ranges.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { type Contraction, canHaveBias } from '../calibrate/contractions.ts';

export interface Block {
  readonly outputs: readonly number[];
  readonly columns: readonly number[];
}

/** Outputs that a shard makes; undefined where the output has no owners. */
export function ownOutputs(
  division: Division,
  contraction: Contraction,
  shard: number,
): readonly number[] | undefined {
  const sharding = division.shardings.get(contraction.output);
  if (sharding?.axis !== contraction.outputAxis) return undefined;
  return toIndices(sharding.parts[shard] ?? []);
}

/**
 * `reads`: input channels of each shard. Outputs that no shard owns are made everywhere from everything; those of a depthwise
 * convolution each from its own channel.
 */
export function blocksOf(
  division: Division,
  contraction: Contraction,
  reads: readonly (readonly number[])[],
): readonly Block[] {
  const { depthwise, outputChannels } = contraction;
  if (depthwise) {
    return Array.from({ length: outputChannels }, (_, channel) => ({
      outputs: [channel],
      columns: columnsOf(contraction, [channel]),
    }));
  }
  if (ownOutputs(division, contraction, 0) === undefined) return [wholeBlock(contraction)];
  return reads.flatMap((channels, shard) => {
    const outputs = ownOutputs(division, contraction, shard) ?? [];
    return outputs.length === 0 ? [] : [{ outputs, columns: columnsOf(contraction, channels) }];
  });
}

/** All outputs, made from everything. */
export function wholeBlock(contraction: Contraction): Block {
  const all = (length: number) => Array.from({ length }, (_, i) => i);
  return {
    outputs: all(contraction.outputChannels),
    columns: columnsOf(contraction, all(contraction.inputChannels)),
  };
}

function columnsOf(contraction: Contraction, channels: readonly number[]): number[] {
  const { taps, inputChannels } = contraction;
  return [
    ...channels.flatMap((channel) => Array.from({ length: taps }, (_, tap) => channel * taps + tap)),
    ...(canHaveBias(contraction) ? [inputChannels * taps] : []),
  ];
}

/** outputs x width, bias last, as weights and bias. */
export function splitBias(matrix: Float64Array, width: number): [weights: Float64Array, bias: Float64Array] {
  const outputs = matrix.length / width;
  const weights = new Float64Array(outputs * (width - 1));
  const bias = new Float64Array(outputs);
  for (let output = 0; output < outputs; output++) {
    weights.set(matrix.subarray(output * width, (output + 1) * width - 1), output * (width - 1));
    bias[output] = matrix[(output + 1) * width - 1] ?? 0;
  }
  return [weights, bias];
}
