/**
 * What a contraction multiplies, row by row: at one output position, the elements of every input channel under the
 * kernel, and a 1 for the bias. Positions are sampled, because neighbours say almost the same.
 */
import { windowOf } from '../../graph/ops/window.ts';
import type { Contraction } from './contractions.ts';
import type { Observed } from './prefix.ts';

/** Columns of a row: channels x taps, then the 1. */
export function rowWidth({ inputChannels, taps }: Contraction): number {
  return inputChannels * taps + 1;
}

/** Output positions of one sample. */
export function positionsPerSample({ view, outputAxis }: Contraction): number {
  return view.outputShape.reduce((product, dim, axis) => (axis === outputAxis ? product : product * dim), 1);
}

/** `count` of `total` positions, spread evenly, each drawn within its part; all where there are no more. */
export function samplePositions(total: number, count: number, random: () => number): Int32Array {
  if (count >= total) return Int32Array.from({ length: total }, (_, i) => i);
  return Int32Array.from({ length: count }, (_, i) => Math.floor(((i + random()) * total) / count));
}

/** Rows of a value along its channel axis: positions.length x channels. */
export function gatherChannels(value: Observed, axis: number, positions: Int32Array): Float32Array {
  const channels = value.dims[axis] ?? 1;
  const inner = value.dims.slice(axis + 1).reduce((product, dim) => product * dim, 1);
  const rows = new Float32Array(positions.length * channels);
  for (let row = 0; row < positions.length; row++) {
    const position = positions[row] ?? 0;
    const start = Math.floor(position / inner) * channels * inner + (position % inner);
    for (let c = 0; c < channels; c++) rows[row * channels + c] = value.data[start + c * inner] ?? 0;
  }
  return rows;
}

/** For every output position along each spatial axis and every tap, the input index, or -1 in the padding. */
function tapIndices(contraction: Contraction): readonly Int32Array[] {
  const { view } = contraction;
  const kernel = view.inputShape(1).slice(2);
  return kernel.map((taps, spatial) => {
    const axis = spatial + 2;
    const { stride, extent, padBegin, inputLength, outputLength } = windowOf(view, kernel, axis);
    const dilation = taps > 1 ? (extent - 1) / (taps - 1) : 1;
    return Int32Array.from({ length: outputLength * taps }, (_, i) => {
      const index = Math.floor(i / taps) * stride - padBegin + (i % taps) * dilation;
      return index >= 0 && index < inputLength ? index : -1;
    });
  });
}

export type GatherRows = (value: Observed, positions: Int32Array) => Float32Array;

/** positions.length x rowWidth. */
export function rowGatherer(contraction: Contraction): GatherRows {
  const width = rowWidth(contraction);
  if (contraction.node.opType !== 'Conv') {
    return (value, positions) => withOnes(gatherChannels(value, contraction.inputAxis, positions), width);
  }
  const { view, inputChannels, taps } = contraction;
  const kernel = view.inputShape(1).slice(2);
  const indices = tapIndices(contraction);
  const outputLengths = view.outputShape.slice(2);
  const inputLengths = view.inputShape(0).slice(2);
  const outputSize = outputLengths.reduce((product, dim) => product * dim, 1);
  const inputSize = inputLengths.reduce((product, dim) => product * dim, 1);
  const offsets = new Int32Array(taps);
  return (value, positions) => {
    const rows = new Float32Array(positions.length * width);
    for (let row = 0; row < positions.length; row++) {
      const position = positions[row] ?? 0;
      const sample = Math.floor(position / outputSize);
      for (let tap = 0; tap < taps; tap++) {
        offsets[tap] = tapOffset(position % outputSize, tap, kernel, indices, outputLengths, inputLengths);
      }
      let at = row * width;
      for (let channel = 0; channel < inputChannels; channel++) {
        const start = (sample * inputChannels + channel) * inputSize;
        for (let tap = 0; tap < taps; tap++, at++) {
          const offset = offsets[tap] ?? -1;
          if (offset >= 0) rows[at] = value.data[start + offset] ?? 0;
        }
      }
      rows[at] = 1;
    }
    return rows;
  };
}

/** Offset within one input map of a tap at an output position; -1 in the padding. */
function tapOffset(
  position: number,
  tap: number,
  kernel: readonly number[],
  indices: readonly Int32Array[],
  outputLengths: readonly number[],
  inputLengths: readonly number[],
): number {
  let offset = 0;
  let scale = 1;
  let restPosition = position;
  let restTap = tap;
  for (let axis = kernel.length - 1; axis >= 0; axis--) {
    const taps = kernel[axis] ?? 1;
    const length = outputLengths[axis] ?? 1;
    const index = indices[axis]?.[(restPosition % length) * taps + (restTap % taps)] ?? -1;
    if (index < 0) return -1;
    offset += index * scale;
    scale *= inputLengths[axis] ?? 1;
    restPosition = Math.floor(restPosition / length);
    restTap = Math.floor(restTap / taps);
  }
  return offset;
}

function withOnes(rows: Float32Array, width: number): Float32Array {
  const count = rows.length / (width - 1);
  const result = new Float32Array(count * width);
  for (let row = 0; row < count; row++) {
    result.set(rows.subarray(row * (width - 1), (row + 1) * (width - 1)), row * width);
    result[(row + 1) * width - 1] = 1;
  }
  return result;
}
