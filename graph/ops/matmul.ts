/** Matrix products with constant weights: Gemm (opset 13) and MatMul (opset 13), divided by output columns. */
import { intAttribute } from '../graph.ts';
import { type Ranges, range, size } from '../ranges.ts';
import { elementCount } from '../tensor.ts';
import type { NodeView, OpRule, PartBuilder } from './rule.ts';

/** Bias of Gemm, broadcast to [M, N]: its last axis follows the output columns unless it is 1. */
function gemmBias(view: NodeView, builder: PartBuilder, columns: Ranges): string[] {
  const name = view.node.inputs[2] ?? '';
  if (name === '') return [];
  const shape = view.inputShape(2);
  const last = shape.length - 1;
  return [builder.weight(name, last >= 0 && shape[last] !== 1 ? { [last]: columns } : {})];
}

export const gemm: OpRule = {
  kind: 'contraction',
  needs(view, { axis }) {
    const hasBias = (view.node.inputs[2] ?? '') !== '';
    if (axis !== 1 || !view.isConstant(1) || (hasBias && !view.isConstant(2))) return undefined;
    const inner = intAttribute(view.node, 'transA', 0) === 1 ? 0 : 1;
    const ranges = range(0, view.inputShape(0)[inner] ?? 1);
    return [{ axis: inner, ranges, anyOrder: true }, 'none', 'none'];
  },
  emit(view, part, builder) {
    const [input] = part.inputs;
    if (input === undefined) return '';
    const transposed = intAttribute(view.node, 'transB', 0) === 1;
    const [innerAxis, outerAxis] = transposed ? [1, 0] : [0, 1];
    const weight = builder.weight(view.node.inputs[1] ?? '', {
      [outerAxis]: part.ranges,
      [innerAxis]: input.order,
    });
    builder.countMacs((view.outputShape[0] ?? 1) * size(part.ranges) * size(input.order));
    const inputs = [input.name, weight, ...gemmBias(view, builder, part.ranges)];
    return builder.node('Gemm', inputs, view.node.attributes, part.output);
  },
  macs(view) {
    const inner = intAttribute(view.node, 'transA', 0) === 1 ? 0 : 1;
    return elementCount(view.outputShape) * (view.inputShape(0)[inner] ?? 1);
  },
};

export const matMul: OpRule = {
  kind: 'contraction',
  needs(view, { axis }) {
    const rank = view.outputShape.length;
    const input = view.inputShape(0);
    // Only A[.., K] x W[K, N] with a plain weight matrix has columns of its own.
    if (axis !== rank - 1 || !view.isConstant(1) || view.inputShape(1).length !== 2) return undefined;
    const inner = input.length - 1;
    return [{ axis: inner, ranges: range(0, input[inner] ?? 1), anyOrder: true }, 'none'];
  },
  emit(view, part, builder) {
    const [input] = part.inputs;
    if (input === undefined) return '';
    const weight = builder.weight(view.node.inputs[1] ?? '', { 0: input.order, 1: part.ranges });
    const rows = elementCount(view.outputShape.slice(0, -1));
    builder.countMacs(rows * size(part.ranges) * size(input.order));
    return builder.node('MatMul', [input.name, weight], view.node.attributes, part.output);
  },
  macs: (view) => elementCount(view.outputShape) * (view.inputShape(0).at(-1) ?? 1),
};
