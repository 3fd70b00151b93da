/** Gradients of Softmax and LogSoftmax along one axis. */
import { softmaxAttributes } from '../../../../graph/attributes/reductions.ts';
import { positiveAxis } from '../../../../graph/ops/rule.ts';
import type { GradientRule, NodeContext } from '../gradientRule.ts';

function axisOf({ node, output }: NodeContext): number {
  const { axis } = softmaxAttributes(node);
  return positiveAxis(axis, output.shape.length);
}

export const softmax: GradientRule = (context, dy) => [
  () => {
    const { builder: b, output: y } = context;
    const mean = b.reduceSum(b.mul(dy, y), [axisOf(context)], true);
    return b.mul(y, b.sub(dy, mean));
  },
];

export const logSoftmax: GradientRule = (context, dy) => [
  () => {
    const { builder: b, output: y } = context;
    return b.sub(dy, b.mul(b.unary('Exp', y), b.reduceSum(dy, [axisOf(context)], true)));
  },
];
