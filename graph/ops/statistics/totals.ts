/** Statistics of reductions: each part is reduced by itself, and the parts' results are reduced once more. */
import { windowAttributes } from '../../attributes/windows.ts';
import { elementCount, float32Tensor } from '../../tensor.ts';
import type { NodeView } from '../rule.ts';
import { keptShape, type Statistics, type ValueWriter, writeReduced, writeReduction } from './statistics.ts';

export interface Total {
  /** Reduces one part. */
  readonly part: string;
  /** Reduces what the parts gave. */
  readonly combine: 'ReduceSum' | 'ReduceMax' | 'ReduceMin' | 'ReduceProd';
  /** What is done last: an operator of one input, or the division by the number of elements. */
  readonly last?: 'Sqrt' | 'Log' | 'mean';
}

export function writeTotal(
  view: NodeView,
  reduced: readonly number[],
  joined: string,
  axis: number,
  { combine, last }: Total,
  write: ValueWriter,
): string {
  const shape = keptShape(view, reduced);
  const total = writeReduction(write, combine, joined, [axis], shape);
  if (last === undefined) return total;
  if (last !== 'mean') return write.node(last, [total], shape);
  const count = elementCount(reduced.map((one) => view.inputShape(0)[one] ?? 1));
  return write.node('Div', [total, write.constant(float32Tensor([], [count]))], shape);
}

export function totals(
  reducedAxes: (view: NodeView) => readonly number[] | undefined,
  total: Total,
): Statistics {
  return {
    reducedAxes,
    pointwise: false,
    partial(view, { value }, write) {
      const reduced = reducedAxes(view) ?? [];
      return [writeReduction(write, total.part, value, reduced, keptShape(view, reduced))];
    },
    finish(view, { values: [joined = ''], axis }, write) {
      const reduced = reducedAxes(view) ?? [];
      writeReduced(view, reduced, writeTotal(view, reduced, joined, axis, total, write), write);
    },
  };
}

const sum: Total = { part: 'ReduceSum', combine: 'ReduceSum' };
const average: Total = { ...sum, last: 'mean' };
const largest: Total = { part: 'ReduceMax', combine: 'ReduceMax' };

/** Reduce* operator -> how its parts are combined. ReduceLogSumExp is among the exponentials. */
export const reduceTotals = {
  ReduceSum: sum,
  ReduceMean: average,
  ReduceMax: largest,
  ReduceMin: { part: 'ReduceMin', combine: 'ReduceMin' },
  ReduceProd: { part: 'ReduceProd', combine: 'ReduceProd' },
  ReduceL1: { part: 'ReduceL1', combine: 'ReduceSum' },
  ReduceL2: { part: 'ReduceSumSquare', combine: 'ReduceSum', last: 'Sqrt' },
  ReduceSumSquare: { part: 'ReduceSumSquare', combine: 'ReduceSum' },
  ReduceLogSum: { ...sum, last: 'Log' },
} as const satisfies Readonly<Record<string, Total>>;

/** The spatial axes of a map. */
export function spatialAxes(view: NodeView): readonly number[] {
  return view
    .inputShape(0)
    .map((_, axis) => axis)
    .slice(2);
}

export const globalAverage: Statistics = totals(spatialAxes, average);

export const globalMaximum: Statistics = totals(spatialAxes, largest);

/** An AveragePool whose one window is the whole map. */
export const averagePool: Statistics = totals((view) => {
  const shape = view.inputShape(0);
  const { autoPad, kernelShape = [], pads } = windowAttributes(view.node, shape.length - 2);
  const padded = pads.some((pad) => pad !== 0) || (autoPad !== 'NOTSET' && autoPad !== 'VALID');
  const covers = kernelShape.every((length, i) => length === shape[i + 2]);
  return covers && !padded ? spatialAxes(view) : undefined;
}, average);
