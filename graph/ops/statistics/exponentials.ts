/**
 * Statistics of Softmax and its relatives: a part gives its largest element and the sum of exponentials against that,
 * so that no exponential overflows however the parts differ.
 */
import { float32Tensor } from '../../tensor.ts';
import type { NodeView } from '../rule.ts';
import {
  type JoinedParts,
  keptShape,
  type Statistics,
  type ValueWriter,
  writeReduced,
  writeReduction,
} from './statistics.ts';

type Axes = (view: NodeView) => readonly number[] | undefined;

/** Below every finite float32 but for the last: the difference of two of them is no NaN, as that of infinities is. */
const lowest = -3.4028234663852886e38;

function partialOf(axes: Axes): Statistics['partial'] {
  return (view, { value, shape }, write) => {
    const reduced = axes(view) ?? [];
    const kept = keptShape(view, reduced);
    const largest = writeReduction(write, 'ReduceMax', value, reduced, kept);
    // All of a part may be minus infinity (masked).
    const finite = write.node('Max', [largest, write.constant(float32Tensor([], [lowest]))], kept);
    const powers = write.node('Exp', [write.node('Sub', [value, finite], shape)], shape);
    return [finite, writeReduction(write, 'ReduceSum', powers, reduced, kept)];
  };
}

/** The largest element of all parts, and the sum of exponentials against it. */
function combined(
  kept: readonly number[],
  { values: [largest = '', sums = ''], parts, axis }: JoinedParts,
  write: ValueWriter,
): { readonly largest: string; readonly sum: string } {
  const joined = kept.map((length, i) => (i === axis ? parts.length : length));
  const most = writeReduction(write, 'ReduceMax', largest, [axis], kept);
  const scale = write.node('Exp', [write.node('Sub', [largest, most], joined)], joined);
  const scaled = write.node('Mul', [sums, scale], joined);
  return { largest: most, sum: writeReduction(write, 'ReduceSum', scaled, [axis], kept) };
}

function normalised(axes: Axes, last: 'Softmax' | 'LogSoftmax'): Statistics {
  return {
    reducedAxes: axes,
    pointwise: true,
    partial: partialOf(axes),
    finish(view, joined, write) {
      const kept = keptShape(view, axes(view) ?? []);
      const { largest, sum } = combined(kept, joined, write);
      const { node, outputShape: shape } = view;
      const output = node.outputs[0] ?? '';
      const below = write.node('Sub', [node.inputs[0] ?? '', largest], shape);
      if (last === 'Softmax') write.node('Div', [write.node('Exp', [below], shape), sum], shape, { output });
      else write.node('Sub', [below, write.node('Log', [sum], kept)], shape, { output });
    },
  };
}

export const softmaxSums = (axes: Axes): Statistics => normalised(axes, 'Softmax');

export const logSoftmaxSums = (axes: Axes): Statistics => normalised(axes, 'LogSoftmax');

/** ReduceLogSumExp. */
export const logSumExp = (axes: Axes): Statistics => ({
  reducedAxes: axes,
  pointwise: false,
  partial: partialOf(axes),
  finish(view, joined, write) {
    const reduced = axes(view) ?? [];
    const kept = keptShape(view, reduced);
    const { largest, sum } = combined(kept, joined, write);
    const result = write.node('Add', [write.node('Log', [sum], kept), largest], kept);
    writeReduced(view, reduced, result, write);
  },
});
