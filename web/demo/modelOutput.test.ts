import { describe, expect, it } from 'vitest';
import { viewsOf } from './modelOutput.ts';

const zeros = (dims: readonly number[]) => new Uint8Array(dims.reduce((product, dim) => product * dim, 1));

describe('viewsOf', () => {
  it.each([
    ['float32', [1, 1000], ['top', 'table']],
    ['float32', [1, 3, 32, 48], ['image', 'mask', 'table']],
    ['float32', [1, 12, 36, 48], ['mask', 'table']],
    ['float32', [1, 1, 32, 48], ['image', 'table']],
    ['float32', [1, 3549, 85], ['table']],
    ['uint8', [1, 1, 32, 48], ['mask', 'image', 'table']],
    ['int64', [1, 32, 48], ['mask', 'image', 'table']],
    ['float32', [1], ['table']],
  ] as const)('of %s %j', (type, dims, views) => expect(viewsOf({ type, dims }, zeros(dims))).toEqual(views));

  it('takes a map of many levels for a grey picture', () => {
    const dims = [1, 1, 16, 16];
    expect(
      viewsOf(
        { type: 'uint8', dims },
        zeros(dims).map((_, i) => i),
      ),
    ).toEqual(['image', 'table']);
  });
});
