/** Matrix products, plain and quantised, and what changes between the two. */
import { quantizeLinearAttributes } from '../attributes/elementwise.ts';
import { einsumAttributes, gemmAttributes } from '../attributes/products.ts';
import { broadcastShape } from './elementwise.ts';
import { allAre, type InferRule, isAbsent, outputLike, outputOf } from './inferRule.ts';

/** numpy.matmul's rule. */
function productShape(a: readonly number[] = [], b: readonly number[] = []): readonly number[] | undefined {
  if (a.length === 0 || b.length === 0) return undefined;
  const left = a.length === 1 ? [1, ...a] : a;
  const right = b.length === 1 ? [...b, 1] : b;
  if (left.at(-1) !== right.at(-2)) return undefined;
  const batch = broadcastShape([left.slice(0, -2), right.slice(0, -2)]);
  const rows = a.length === 1 ? [] : left.slice(-2, -1);
  const columns = b.length === 1 ? [] : right.slice(-1);
  return batch && [...batch, ...rows, ...columns];
}

export const matMul: InferRule = (view) =>
  allAre(view, 'float32')
    ? outputLike(view, productShape(view.input(0)?.shape, view.input(1)?.shape))
    : undefined;

export const matMulInteger: InferRule = (view) =>
  outputOf('int32', productShape(view.input(0)?.shape, view.input(1)?.shape));

export const qLinearMatMul: InferRule = (view) => {
  const zeroPoint = view.input(7);
  return zeroPoint && outputOf(zeroPoint.dataType, productShape(view.input(0)?.shape, view.input(3)?.shape));
};

export const gemm: InferRule = (view) => {
  const [a, b, c] = [0, 1, 2].map((i) => view.input(i)?.shape);
  if (a?.length !== 2 || b?.length !== 2 || !allAre(view, 'float32')) return undefined;
  const { transA, transB } = gemmAttributes(view.node);
  const [rows = 0, inner] = transA ? [...a].reverse() : a;
  const [other, columns = 0] = transB ? [...b].reverse() : b;
  const shape = [rows, columns];
  const added = c === undefined ? shape : broadcastShape([shape, c]);
  return inner === other && added?.join() === shape.join() ? outputLike(view, shape) : undefined;
};

/** Letters alone, with the output written out: "bij,bjk->bik". */
export const einsum: InferRule = (view) => {
  const [left = '', output] = einsumAttributes(view.node).equation.replaceAll(' ', '').split('->');
  const terms = left.split(',');
  if (output === undefined || !/^[a-zA-Z,]*$/.test(left) || !/^[a-zA-Z]*$/.test(output)) return undefined;
  if (terms.length !== view.node.inputs.length || !allAre(view, 'float32')) return undefined;
  const lengths = new Map<string, number>();
  for (const [i, term] of terms.entries()) {
    const shape = view.input(i)?.shape;
    if (shape?.length !== term.length) return undefined;
    for (const [axis, letter] of [...term].entries()) {
      const length = shape[axis] ?? 0;
      if ((lengths.get(letter) ?? length) !== length) return undefined;
      lengths.set(letter, length);
    }
  }
  return outputLike(
    view,
    [...output].map((letter) => lengths.get(letter) ?? 0),
  );
};

export const quantizeLinear: InferRule = (view) => {
  const { outputDtype } = quantizeLinearAttributes(view.node);
  if (view.input(0)?.dataType !== 'float32' || outputDtype !== 0) return undefined;
  return outputOf(isAbsent(view, 2) ? 'uint8' : (view.input(2)?.dataType ?? 'string'), view.input(0)?.shape);
};

export const dequantizeLinear: InferRule = (view) =>
  view.input(1)?.dataType === 'float32' ? outputOf('float32', view.input(0)?.shape) : undefined;
