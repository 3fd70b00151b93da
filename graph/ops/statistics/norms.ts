/** Statistics of LpNormalization: a part gives its sum of absolute values or of squares. */
import { lpNormalizationAttributes } from '../../attributes/normalisations.ts';
import { float32Tensor } from '../../tensor.ts';
import type { NodeView } from '../rule.ts';
import { keptShape, type Statistics, writeReduction } from './statistics.ts';
import { reduceTotals, writeTotal } from './totals.ts';

/** `p` is 1 or 2 (the default). */
export function norms(axesOf: (view: NodeView) => readonly number[]): Statistics {
  const totalOf = (view: NodeView) => {
    const name = lpNormalizationAttributes(view.node).p === 1 ? 'ReduceL1' : 'ReduceL2';
    return reduceTotals[name];
  };
  return {
    reducedAxes: axesOf,
    pointwise: true,
    partial(view, { value }, write) {
      const kept = keptShape(view, axesOf(view));
      return [writeReduction(write, totalOf(view).part, value, axesOf(view), kept)];
    },
    finish(view, { values: [joined = ''], axis }, write) {
      const kept = keptShape(view, axesOf(view));
      const norm = writeTotal(view, axesOf(view), joined, axis, totalOf(view), write);
      // What is all zeros stays so.
      const zero = write.node('Equal', [norm, write.constant(float32Tensor([], [0]))], kept, {
        dataType: 'bool',
      });
      const divisor = write.node('Where', [zero, write.constant(float32Tensor([], [1])), norm], kept);
      const { node, outputShape } = view;
      write.node('Div', [node.inputs[0] ?? '', divisor], outputShape, { output: node.outputs[0] ?? '' });
    },
  };
}
