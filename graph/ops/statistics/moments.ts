/**
 * Statistics of normalisations by mean and variance: a part gives its mean and its sum of squared deviations M2, which
 * with its number of elements are combined by Chan's formula for any number of parts (Chan, Golub and LeVeque 1983).
 * Sums of squares would cancel.
 */
import { layerNormalizationAttributes } from '../../attributes/normalisations.ts';
import { elementCount, float32Tensor, int64Tensor } from '../../tensor.ts';
import type { NodeView } from '../rule.ts';
import {
  type AxisPart,
  type JoinedParts,
  keptShape,
  type Statistics,
  type ValueWriter,
  writeReduction,
} from './statistics.ts';

export interface Normalisation {
  /** Axes over which mean and variance are taken. */
  reducedAxes(view: NodeView): readonly number[] | undefined;
  /** Divisor of the deviations. */
  divisor(view: NodeView, variance: string, shape: readonly number[], write: ValueWriter): string;
  /** Parameters, shaped so that they broadcast to the output; undefined where the node has none. */
  scale?(view: NodeView, write: ValueWriter): string | undefined;
  bias?(view: NodeView, write: ValueWriter): string | undefined;
}

function scalar(write: ValueWriter, value: number): string {
  return write.constant(float32Tensor([], [value]));
}

/** sqrt(variance + epsilon) */
function withEpsilon(view: NodeView, variance: string, shape: readonly number[], write: ValueWriter): string {
  const epsilon = scalar(write, layerNormalizationAttributes(view.node).epsilon);
  return write.node('Sqrt', [write.node('Add', [variance, epsilon], shape)], shape);
}

/** Mean and sum of squared deviations of one part. */
export function partMoments(
  view: NodeView,
  axes: readonly number[],
  { value, shape }: AxisPart,
  write: ValueWriter,
): readonly string[] {
  const kept = keptShape(view, axes);
  const mean = writeReduction(write, 'ReduceMean', value, axes, kept);
  const deviations = write.node('Sub', [value, mean], shape);
  return [mean, writeReduction(write, 'ReduceSumSquare', deviations, axes, kept)];
}

/** Mean and variance of the whole, of `keptShape`. */
export function combineMoments(
  view: NodeView,
  axes: readonly number[],
  { values: [means = '', squares = ''], parts, axis }: JoinedParts,
  write: ValueWriter,
): { readonly mean: string; readonly variance: string } {
  const kept = keptShape(view, axes);
  const joined = kept.map((length, i) => (i === axis ? parts.length : length));
  const count = elementCount(axes.map((one) => view.inputShape(0)[one] ?? 1));
  const length = view.inputShape(0)[axis] ?? 1;
  const shares = parts.map((indices) => indices.length / length);
  const dims = kept.map((_, i) => (i === axis ? parts.length : 1));
  const weights = write.constant(float32Tensor(dims, shares));
  const weighted = write.node('Mul', [means, weights], joined);
  const mean = writeReduction(write, 'ReduceSum', weighted, [axis], kept);
  const apart = write.node('Sub', [means, mean], joined);
  const between = write.node('Mul', [write.node('Mul', [apart, apart], joined), weights], joined);
  const within = write.node('Div', [squares, scalar(write, count)], joined);
  const both = write.node('Add', [within, between], joined);
  return { mean, variance: writeReduction(write, 'ReduceSum', both, [axis], kept) };
}

export function moments(normalisation: Normalisation): Statistics {
  const axesOf = (view: NodeView) => normalisation.reducedAxes(view) ?? [];
  return {
    reducedAxes: (view) => normalisation.reducedAxes(view),
    pointwise: true,
    partial: (view, part, write) => partMoments(view, axesOf(view), part, write),
    finish(view, joined, write) {
      const reduced = axesOf(view);
      const { mean, variance } = combineMoments(view, reduced, joined, write);
      const divisor = normalisation.divisor(view, variance, keptShape(view, reduced), write);
      writeNormalised(view, { mean, divisor, normalisation }, write);
    },
  };
}

interface Normalised {
  readonly mean: string;
  readonly divisor: string;
  readonly normalisation: Normalisation;
}

function writeNormalised(
  view: NodeView,
  { mean, divisor, normalisation }: Normalised,
  write: ValueWriter,
): void {
  const { node, outputShape: shape } = view;
  const scale = normalisation.scale?.(view, write);
  const bias = normalisation.bias?.(view, write);
  const steps: [string, string][] = [
    ['Sub', mean],
    ['Div', divisor],
    ...(scale === undefined ? [] : ([['Mul', scale]] as [string, string][])),
    ...(bias === undefined ? [] : ([['Add', bias]] as [string, string][])),
  ];
  steps.reduce((value, [opType, operand], i) => {
    const output = i === steps.length - 1 ? { output: node.outputs[0] ?? '' } : {};
    return write.node(opType, [value, operand], shape, output);
  }, node.inputs[0] ?? '');
}

function given(view: NodeView, input: number): string | undefined {
  const name = view.node.inputs[input] ?? '';
  return name === '' ? undefined : name;
}

/** LayerNormalization: X, Scale, B, which broadcast as they are. */
export const layerMoments = (reducedAxes: Normalisation['reducedAxes']): Statistics =>
  moments({
    reducedAxes,
    divisor: withEpsilon,
    scale: (view) => given(view, 1),
    bias: (view) => given(view, 2),
  });

/** InstanceNormalization: input, scale [C], B [C]. */
export const instanceMoments = (spatialAxes: (view: NodeView) => readonly number[]): Statistics => {
  const alongChannels = (input: number) => (view: NodeView, write: ValueWriter) => {
    const [channels = 1] = view.inputShape(input);
    const axes = spatialAxes(view).map((axis) => axis - 1);
    const shape = [channels, ...axes.map(() => 1)];
    return write.node('Unsqueeze', [view.node.inputs[input] ?? '', write.constant(int64Tensor(axes))], shape);
  };
  return moments({
    reducedAxes: spatialAxes,
    divisor: withEpsilon,
    scale: alongChannels(1),
    bias: alongChannels(2),
  });
};

/** MeanVarianceNormalization: deviations over (standard deviation + 1e-9), as the specification's function has it. */
export const meanVarianceMoments = (reducedAxes: Normalisation['reducedAxes']): Statistics =>
  moments({
    reducedAxes,
    divisor: (_, variance, shape, write) =>
      write.node('Add', [write.node('Sqrt', [variance], shape), scalar(write, 1e-9)], shape),
  });
