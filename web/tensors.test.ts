import { describe, expect, it } from 'vitest';
import { toInputs, toOutput } from './tensors.ts';

const expected = [{ name: 'x', dataType: 'float32' as const, shape: [1, 2] }];

describe('toInputs', () => {
  it('takes typed arrays, plain numbers and views into a larger buffer', () => {
    const view = new Float32Array([9, 1, 2, 9]).subarray(1, 3);
    for (const data of [Float32Array.of(1, 2), [1, 2], view]) {
      const tensor = toInputs({ x: { data, dims: [1, 2] } }, expected)['x'];
      expect(new Float32Array(tensor?.data.buffer as ArrayBuffer)).toEqual(Float32Array.of(1, 2));
    }
  });

  it('keeps a copy, so that a later change by the caller does not matter', () => {
    const data = Float32Array.of(1, 2);
    const tensor = toInputs({ x: { data, dims: [1, 2], type: 'float32' } }, expected)['x'];
    data.fill(0);
    expect(new Float32Array(tensor?.data.buffer as ArrayBuffer)[0]).toBe(1);
  });

  it.each([
    ['another name', { y: { data: [1, 2], dims: [1, 2] } }],
    ['nothing', {}],
    ['another shape', { x: { data: [1, 2], dims: [2, 1] } }],
    ['another type', { x: { data: Int32Array.of(1, 2), dims: [1, 2] } }],
    ['too few elements', { x: { data: [1], dims: [1, 2] } }],
    ['no array', { x: { data: 'text', dims: [1, 2] } }],
  ])('refuses %s', (_, feeds) => {
    expect(() => toInputs(feeds, expected)).toThrowError(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });
});

describe('toOutput', () => {
  it('gives the array of the type, aligned or not', () => {
    const bytes = new Uint8Array([0, 0, 0, 128, 63]).subarray(1);
    expect(toOutput({ dataType: 'float32', dims: [1], data: bytes })).toEqual({
      data: Float32Array.of(1),
      dims: [1],
      type: 'float32',
    });
    const int64 = toOutput({ dataType: 'int64', dims: [1], data: new Uint8Array([7, 0, 0, 0, 0, 0, 0, 0]) });
    expect(int64.data).toEqual(BigInt64Array.of(7n));
  });
});
