/** Pooling: channel by channel; windows along the spatial axes, or one number per map. */
import { windowAttributes } from '../attributes/windows.ts';
import { firstInput, partwise } from './partwise.ts';
import { inputNames, type NodeView, needUnlessConstant, type OpRule } from './rule.ts';
import { emitWindows, windowNeeds, windowOf } from './window.ts';

/** GlobalAveragePool, GlobalMaxPool, GlobalLpPool: one map in, one number out. */
export const globalPool: OpRule = partwise({
  kind: 'pointwise',
  doc: {
    channels: 'the same channels',
    rows: 'no: one number is made of all rows; averages and maxima become partial ones, which are then combined',
  },
  inputs: (view, slab) => (slab.axis <= 1 ? firstInput(view, slab) : undefined),
});

function kernelOf(view: NodeView): readonly number[] {
  return windowAttributes(view.node, view.outputShape.length - 2).kernelShape ?? [];
}

const alongChannels = partwise({
  kind: 'pointwise',
  doc: { channels: 'the same channels', rows: 'the rows under its windows' },
  inputs: firstInput,
});

/** MaxPool (opset 12), AveragePool and LpPool (opset 11). */
export const pool: OpRule = {
  ...alongChannels,
  needs(view, slab) {
    if (slab.axis <= 1) return alongChannels.needs(view, slab);
    const ranges = windowNeeds(windowOf(view, kernelOf(view), slab.axis), slab.ranges);
    return ranges === undefined ? undefined : [needUnlessConstant(view, 0, { axis: slab.axis, ranges })];
  },
  emit(view, part, builder) {
    if (part.axis <= 1) return alongChannels.emit(view, part, builder);
    const kernel = kernelOf(view);
    const rest = inputNames(view, part, builder).slice(1);
    return emitWindows(view, part, builder, windowOf(view, kernel, part.axis), kernel, rest);
  },
};
