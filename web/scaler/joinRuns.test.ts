import { describe, expect, it } from 'vitest';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import { joinRuns, shapeOfInputs, splitOutputs } from './joinRuns.ts';

const values = (tensor: Tensor | undefined) => (tensor === undefined ? null : [...float32View(tensor)]);

describe('a batch as tensors', () => {
  it('is joined along the first axis and divided again', () => {
    const runs = [
      { x: float32Tensor([1, 2], [1, 2]) },
      { x: float32Tensor([2, 2], [3, 4, 5, 6]) },
      { x: float32Tensor([1, 2], [7, 8]) },
    ];
    const joined = joinRuns(runs);
    expect(joined['x']?.dims).toEqual([4, 2]);
    const items = runs.map((run) => shapeOfInputs(run).items);
    const parts = splitOutputs(joined, items);
    expect(parts.map(({ x }) => values(x))).toEqual([
      [1, 2],
      [3, 4, 5, 6],
      [7, 8],
    ]);
    expect(parts.map(({ x }) => x?.dims)).toEqual([
      [1, 2],
      [2, 2],
      [1, 2],
    ]);
  });

  it('has one key for runs that differ only in items', () => {
    const key = (dims: number[]) => shapeOfInputs({ x: float32Tensor(dims, new Float32Array(24)) }).key;
    expect(key([2, 3, 4])).toBe(key([1, 3, 4]));
    expect(key([2, 3, 4])).not.toBe(key([2, 4, 3]));
    const bytes = { x: { dataType: 'uint8', dims: [1, 3, 4], data: new Uint8Array(12) } } as const;
    expect(shapeOfInputs(bytes).key).not.toBe(key([1, 3, 4]));
  });

  it('refuses inputs that disagree on their items, and outputs without the batch axis', () => {
    const x = float32Tensor([1, 2], [1, 2]);
    const y = float32Tensor([2, 1], [1, 2]);
    expect(() => shapeOfInputs({ x, y })).toThrow('Expected 1 items in input "y"');
    expect(() => splitOutputs({ x: float32Tensor([1], [1]) }, [1, 1])).toThrow('maxBatch 1');
  });
});
