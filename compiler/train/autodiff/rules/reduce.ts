/** Gradients of reductions over given axes. */
import { reduceAttributes } from '../../../../graph/attributes/reductions.ts';
import type { Node } from '../../../../graph/graph.ts';
import { positiveAxis } from '../../../../graph/ops/rule.ts';
import { elementCount, readIntegers } from '../../../../graph/tensor.ts';
import { type GradientRule, type NodeContext, noGradient } from '../gradientRule.ts';
import type { Ref } from '../graphBuilder.ts';

/** Axes that a reduction goes over: an attribute up to opset 17 (ReduceMean), an input from 13 on (ReduceSum). */
function reducedAxes(context: NodeContext): readonly number[] {
  const { node } = context;
  const rank = context.input(0).shape.length;
  const { axes = [], noopWithEmptyAxes } = reduceAttributes(node);
  const listed = context.has(1) ? integersOf(context, node) : axes;
  if (listed.length > 0) return listed.map((axis) => positiveAxis(axis, rank));
  return noopWithEmptyAxes ? [] : context.input(0).shape.map((_, axis) => axis);
}

function integersOf(context: NodeContext, node: Node): readonly number[] {
  const axes = context.constant(1);
  if (axes === undefined) throw noGradient(node, 'its axes are computed at run time; make them constant');
  return readIntegers(axes);
}

function spread(context: NodeContext, dy: Ref): Ref {
  const { builder: b } = context;
  const x = context.input(0);
  const axes = reducedAxes(context);
  const kept = x.shape.map((length, axis) => (axes.includes(axis) ? 1 : length));
  return b.expand(b.reshape(dy, kept), x.shape);
}

export const reduceSum: GradientRule = (context, dy) => [() => spread(context, dy), null];

export const reduceMean: GradientRule = (context, dy) => [
  () => {
    const ratio = elementCount(context.output.shape) / elementCount(context.input(0).shape);
    return spread(context, context.builder.scale(dy, ratio));
  },
  null,
];
