/** Gradients of batch and layer normalisation. */
import {
  batchNormalizationAttributes,
  layerNormalizationAttributes,
} from '../../../../graph/attributes/normalisations.ts';
import { positiveAxis } from '../../../../graph/ops/rule.ts';
import { elementCount } from '../../../../graph/tensor.ts';
import { type GradientRule, type NodeContext, noGradient } from '../gradientRule.ts';
import type { GraphBuilder, Ref } from '../graphBuilder.ts';

/**
 * In training mode the statistics are the batch's, and depend on the input; they are outputs 1 and 2 of a node
 * whose momentum is 0 (see batchStatistics.ts). Else they are inputs 3 and 4, and constants.
 */
export const batchNormalization: GradientRule = (context, dy) => {
  const { node, builder: b } = context;
  const { epsilon, momentum, trainingMode: training } = batchNormalizationAttributes(node);
  if (training && momentum !== 0)
    throw noGradient(node, 'its batch statistics are not outputs; apply withBatchStatistics first');
  const x = context.input(0);
  const scale = context.input(1);
  const channels = [1, x.shape[1] ?? 1, ...x.shape.slice(2).map(() => 1)];
  const mean = training ? context.furtherOutput(1, scale.shape) : context.input(3);
  const variance = training ? context.furtherOutput(2, scale.shape) : context.input(4);
  const sums = cached(() => {
    const inverse = inverseDeviation(b, variance, epsilon);
    const gradient = overChannels(b, dy);
    const product = overChannels(b, b.mul(dy, x));
    return { inverse, gradient, scaled: b.mul(inverse, b.sub(product, b.mul(mean, gradient))) };
  });
  return [
    () => {
      if (!training) {
        const inverse = inverseDeviation(b, variance, epsilon);
        return b.mul(dy, b.reshape(b.mul(scale, inverse), channels));
      }
      // scale / s (dy - mean(dy) - normalised x * mean(dy * normalised x)), gathered as p dy + q x + r per channel.
      const { inverse, gradient, scaled } = sums();
      const count = elementCount(x.shape) / (x.shape[1] ?? 1);
      const p = b.mul(scale, inverse);
      const q = b.scale(b.mul(b.mul(p, inverse), scaled), -1 / count);
      const r = b.sub(b.scale(b.mul(p, gradient), -1 / count), b.mul(q, mean));
      const affine = b.add(b.mul(x, b.reshape(q, channels)), b.reshape(r, channels));
      return b.add(b.mul(dy, b.reshape(p, channels)), affine);
    },
    () => sums().scaled,
    () => sums().gradient,
    null,
    null,
  ];
};

export const layerNormalization: GradientRule = (context, dy) => {
  const { node, builder: b } = context;
  const [x, scale] = [context.input(0), context.input(1)];
  const { axis } = layerNormalizationAttributes(node);
  const first = positiveAxis(axis, x.shape.length);
  const axes = x.shape.map((_, i) => i).filter((i) => i >= first);
  const normalised = cached(() => normalise(context, x, axes));
  return [
    () => {
      const { value, inverse } = normalised();
      const scaled = b.mul(dy, scale);
      const along = b.mul(value, b.reduceWith('ReduceMean', b.mul(scaled, value), axes, true));
      const centred = b.sub(scaled, b.reduceWith('ReduceMean', scaled, axes, true));
      return b.mul(inverse, b.sub(centred, along));
    },
    () => b.sumTo(b.mul(dy, normalised().value), scale.shape),
    () => b.sumTo(dy, context.input(2).shape),
  ];
};

function normalise(context: NodeContext, x: Ref, axes: readonly number[]): { value: Ref; inverse: Ref } {
  const { builder: b } = context;
  const shape = x.shape.map((length, i) => (axes.includes(i) ? 1 : length));
  const mean = context.furtherOutput(1, shape);
  const inverse = context.furtherOutput(2, shape);
  return { value: b.mul(b.sub(x, mean), inverse), inverse };
}

function inverseDeviation(b: GraphBuilder, variance: Ref, epsilon: number): Ref {
  return b.unary('Reciprocal', b.unary('Sqrt', b.add(variance, b.scalar(epsilon))));
}

function overChannels(b: GraphBuilder, x: Ref): Ref {
  return b.reduceSum(
    x,
    x.shape.map((_, axis) => axis).filter((axis) => axis !== 1),
    false,
  );
}

/** Several inputs' gradients share these nodes, which are only there if one is wanted. */
function cached<T>(make: () => T): () => T {
  let value: { readonly made: T } | undefined;
  return () => {
    value ??= { made: make() };
    return value.made;
  };
}
