/** Largest absolute difference over all outputs, relative to the largest absolute value of its output. */
import { float32View, type Tensor } from '../../graph/tensor.ts';

/** Infinite where names, shapes or data types differ, a value is not finite, or an expected output is zero throughout. */
export function relativeDifference(
  actual: ReadonlyMap<string, Tensor>,
  expected: ReadonlyMap<string, Tensor>,
): number {
  if (actual.size !== expected.size) return Number.POSITIVE_INFINITY;
  return [...expected].reduce((worst, [name, tensor]) => {
    const other = actual.get(name);
    if (
      other === undefined ||
      other.dims.join() !== tensor.dims.join() ||
      other.dataType !== tensor.dataType
    ) {
      return Number.POSITIVE_INFINITY;
    }
    return Math.max(worst, tensorDifference(other, tensor));
  }, 0);
}

function tensorDifference(actual: Tensor, expected: Tensor): number {
  if (expected.dataType !== 'float32') return Buffer.compare(actual.data, expected.data) === 0 ? 0 : Infinity;
  const [got, wanted] = [float32View(actual), float32View(expected)];
  let [difference, scale] = [0, 0];
  for (let i = 0; i < wanted.length; i++) {
    const [a, b] = [got[i] ?? Number.NaN, wanted[i] ?? Number.NaN];
    if (!Number.isFinite(a) || !Number.isFinite(b)) return Infinity;
    difference = Math.max(difference, Math.abs(a - b));
    scale = Math.max(scale, Math.abs(b));
  }
  return scale === 0 ? Infinity : difference / scale;
}
