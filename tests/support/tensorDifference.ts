/** Says in what two tensors differ: floats by more than rounding, anything else at all. */
import { float32View, readIntegers, type Tensor } from '../../graph/tensor.ts';

/** Of the largest expected value; parts are summed in another order than wholes. */
const tolerance = 1e-4;

function numbers(tensor: Tensor): ArrayLike<number> {
  if (tensor.dataType === 'float32') return float32View(tensor);
  if (tensor.dataType === 'float64') return new Float64Array(tensor.data.slice().buffer);
  return readIntegers(tensor);
}

export function tensorDifference(expected: Tensor, got: Tensor | undefined): string | undefined {
  if (got === undefined) return 'there is no result';
  if (got.dataType !== expected.dataType) return `expected ${expected.dataType}, got ${got.dataType}`;
  if (got.dims.join() !== expected.dims.join()) return `expected [${expected.dims}], got [${got.dims}]`;
  const a = numbers(expected);
  const b = numbers(got);
  let largest = 1;
  for (let i = 0; i < a.length; i++) {
    const value = Math.abs(a[i] ?? 0);
    if (Number.isFinite(value)) largest = Math.max(largest, value);
  }
  const allowed = expected.dataType.startsWith('float') ? tolerance * largest : 0;
  for (let i = 0; i < a.length; i++) {
    const [want, have] = [a[i] ?? 0, b[i] ?? 0];
    // NaN and infinities must be the same.
    if (Object.is(want, have) || Math.abs(want - have) <= allowed) continue;
    return `element ${i} of [${expected.dims}] should be ${want} and is ${have}`;
  }
  return undefined;
}
