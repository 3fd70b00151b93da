/** Gradients of matrix products. */
import { gemmAttributes } from '../../../../graph/attributes/products.ts';
import type { GradientRule } from '../gradientRule.ts';
import type { GraphBuilder, Ref } from '../graphBuilder.ts';

export const gemm: GradientRule = (context, dy) => {
  const { builder: b, node } = context;
  const { alpha, beta, transA, transB } = gemmAttributes(node);
  const [left, right] = [context.input(0), context.input(1)];
  return [
    () => (transA ? b.gemm(right, dy, transB, true, alpha) : b.gemm(dy, right, false, !transB, alpha)),
    () => (transB ? b.gemm(dy, left, true, transA, alpha) : b.gemm(left, dy, !transA, false, alpha)),
    () => b.sumTo(b.scale(dy, beta), context.input(2).shape),
  ];
};

/** Vectors are taken as matrices of one row or column, as the operator does. */
export const matMul: GradientRule = (context, gradient) => {
  const { builder: b } = context;
  const [a, c] = [context.input(0), context.input(1)];
  const left = a.shape.length === 1 ? b.reshape(a, [1, ...a.shape]) : a;
  const right = c.shape.length === 1 ? b.reshape(c, [...c.shape, 1]) : c;
  const lead = gradient.shape.slice(0, gradient.shape.length - matrixAxes(a, c));
  const dy = b.reshape(gradient, [...lead, left.shape.at(-2) ?? 1, right.shape.at(-1) ?? 1]);
  return [
    () => {
      if (right.shape.length === 2) {
        return b.reshape(b.gemm(asMatrix(b, dy), right, false, true), a.shape);
      }
      return b.reshape(b.sumTo(b.matMul(dy, transposed(b, right)), left.shape), a.shape);
    },
    () => {
      if (right.shape.length === 2) {
        return b.reshape(b.gemm(asMatrix(b, left), asMatrix(b, dy), true, false), c.shape);
      }
      return b.reshape(b.sumTo(b.matMul(transposed(b, left), dy), right.shape), c.shape);
    },
  ];
};

function matrixAxes(a: Ref, c: Ref): number {
  return (a.shape.length > 1 ? 1 : 0) + (c.shape.length > 1 ? 1 : 0);
}

function asMatrix(b: GraphBuilder, x: Ref): Ref {
  const columns = x.shape.at(-1) ?? 1;
  return b.reshape(x, [x.shape.slice(0, -1).reduce((product, length) => product * length, 1), columns]);
}

function transposed(b: GraphBuilder, x: Ref): Ref {
  const rank = x.shape.length;
  return b.transpose(
    x,
    x.shape.map((_, axis) => (axis === rank - 1 ? rank - 2 : axis === rank - 2 ? rank - 1 : axis)),
  );
}
