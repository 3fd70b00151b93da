/** Statistics of ArgMax and ArgMin: a part gives its extreme element and where along the whole axis it lies. */
import { argReduceAttributes } from '../../attributes/reductions.ts';
import { float32Tensor } from '../../tensor.ts';
import type { NodeView } from '../rule.ts';
import { keptShape, type Statistics, writeReduced, writeReduction } from './statistics.ts';

/** Indices travel as float32 beside their elements; beyond this they would not be exact. */
const mostIndices = 2 ** 24;

export function extremes(axisOf: (view: NodeView) => number, which: 'ArgMax' | 'ArgMin'): Statistics {
  const reduceType = which === 'ArgMax' ? 'ReduceMax' : 'ReduceMin';
  return {
    reducedAxes(view) {
      const axis = axisOf(view);
      return (view.inputShape(0)[axis] ?? 0) < mostIndices ? [axis] : undefined;
    },
    pointwise: false,
    partial(view, { value, indices }, write) {
      const axis = axisOf(view);
      const kept = keptShape(view, [axis]);
      const { selectLastIndex } = argReduceAttributes(view.node);
      const attributes = {
        axis: { type: 'int', value: axis },
        keepdims: { type: 'int', value: 1 },
        select_last_index: { type: 'int', value: selectLastIndex ? 1 : 0 },
      } as const;
      const position = write.node(which, [value], kept, { attributes, dataType: 'int64' });
      const all = write.constant(float32Tensor([indices.length], indices));
      return [
        writeReduction(write, reduceType, value, [axis], kept),
        write.node('Gather', [all, position], kept),
      ];
    },
    finish(view, { values: [elements = '', indices = ''], parts, axis }, write) {
      const kept = keptShape(view, [axis]);
      const joined = kept.map((length, i) => (i === axis ? parts.length : length));
      const extreme = writeReduction(write, reduceType, elements, [axis], kept);
      const among = write.node('Equal', [elements, extreme], joined, { dataType: 'bool' });
      // Of equal elements the first index counts, or the last; an index that exists stands for all others.
      const { selectLastIndex: last } = argReduceAttributes(view.node);
      const other = last ? 0 : (view.inputShape(0)[axis] ?? 1) - 1;
      const candidates = write.node(
        'Where',
        [among, indices, write.constant(float32Tensor([], [other]))],
        joined,
      );
      const chosen = writeReduction(write, last ? 'ReduceMax' : 'ReduceMin', candidates, [axis], kept);
      const attributes = { to: { type: 'int', value: int64Code } } as const;
      const index = write.node('Cast', [chosen], kept, { attributes, dataType: 'int64' });
      writeReduced(view, [axis], index, write, 'int64');
    },
  };
}

/** TensorProto.DataType.INT64. */
const int64Code = 7;
