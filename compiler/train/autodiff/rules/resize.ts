/**
 * The gradient of Resize: interpolation is one matrix per axis, so the gradient multiplies by its transpose.
 * Only nearest and linear; antialiasing came after opset 17.
 */
import { resizeAttributes } from '../../../../graph/attributes/resize.ts';
import type { Node } from '../../../../graph/graph.ts';
import { float32Tensor, float32View } from '../../../../graph/tensor.ts';
import { type GradientRule, type NodeContext, noGradient } from '../gradientRule.ts';
import type { GraphBuilder, Ref } from '../graphBuilder.ts';

export const resize: GradientRule = (context, dy) => [
  () => {
    const { shape } = context.input(0);
    return shape.reduce((gradient, length, axis) => {
      const matrix = interpolationMatrix(context, axis);
      return matrix === undefined ? gradient : multiplyAxis(context.builder, gradient, matrix, axis, length);
    }, dy);
  },
  null,
  null,
  null,
];

/** [output, input] weights along one axis, or undefined where it is not resized. */
function interpolationMatrix(context: NodeContext, axis: number): Float32Array | undefined {
  const { node } = context;
  const from = context.input(0).shape[axis] ?? 0;
  const to = context.output.shape[axis] ?? 0;
  if (from === to) return undefined;
  const position = positionOf(node, from, to, scaleOf(context, axis, to / from));
  const matrix = new Float32Array(to * from);
  const put = (row: number, column: number, weight: number): void => {
    const at = row * from + Math.min(Math.max(column, 0), from - 1);
    matrix[at] = (matrix[at] ?? 0) + weight;
  };
  const { mode } = resizeAttributes(node);
  if (mode !== 'nearest' && mode !== 'linear') throw noGradient(node, `mode "${mode}" is not known here`);
  for (let row = 0; row < to; row++) {
    const x = position(row);
    if (mode === 'nearest') put(row, rounded(node, x), 1);
    else {
      const low = Math.floor(x);
      put(row, low, 1 - (x - low));
      put(row, low + 1, x - low);
    }
  }
  return matrix;
}

function scaleOf(context: NodeContext, axis: number, ratio: number): number {
  const scales = context.has(2) ? context.constant(2) : undefined;
  const given = scales === undefined || scales.dataType !== 'float32' ? undefined : float32View(scales)[axis];
  return given ?? ratio;
}

function positionOf(node: Node, from: number, to: number, scale: number): (index: number) => number {
  const { coordinateTransformationMode: mode } = resizeAttributes(node);
  switch (mode) {
    case 'half_pixel':
      return (index) => (index + 0.5) / scale - 0.5;
    case 'pytorch_half_pixel':
      return (index) => (to > 1 ? (index + 0.5) / scale - 0.5 : 0);
    case 'asymmetric':
      return (index) => index / scale;
    case 'align_corners':
      return (index) => (to > 1 ? (index * (from - 1)) / (to - 1) : 0);
    default:
      throw noGradient(node, `coordinates "${mode}" are not known here`);
  }
}

function rounded(node: Node, x: number): number {
  switch (resizeAttributes(node).nearestMode) {
    case 'floor':
      return Math.floor(x);
    case 'ceil':
      return Math.ceil(x);
    case 'round_prefer_ceil':
      return Math.floor(x + 0.5);
    default:
      return Math.ceil(x - 0.5);
  }
}

function multiplyAxis(b: GraphBuilder, dy: Ref, matrix: Float32Array, axis: number, length: number): Ref {
  const rank = dy.shape.length;
  const count = dy.shape[axis] ?? 0;
  const weights = b.constant(float32Tensor([count, length], matrix), 'interpolation');
  if (axis === rank - 1) return b.matMul(dy, weights);
  // The axis last, multiplied, and back.
  const perm = dy.shape.map((_, i) => (i === axis ? rank - 1 : i === rank - 1 ? axis : i));
  return b.transpose(b.matMul(b.transpose(dy, perm), weights), perm);
}
