import { describe, expect, it } from 'vitest';
import type { ValueInfo } from '../../graph/graph.ts';
import { openLengths, shapesOf } from './openLengths.ts';

const input = (name: string, shape?: ValueInfo['shape']): ValueInfo => ({
  name,
  dataType: 'float32',
  ...(shape === undefined ? {} : { shape }),
});

describe('open lengths', () => {
  it('asks for each once, by the names of the inputs', () => {
    const inputs = [input('a', ['N', 3, 'H', null]), input('b', ['N', 'H']), input('c', [1, 2])];
    const asked = openLengths(inputs);
    expect(asked.map(({ label, proposal }) => [label, proposal])).toEqual([
      ['Length of “a” along axis 0 (N)', 1],
      ['Length of “a” along axis 2 (H)', 224],
      ['Length of “a” along axis 3', 224],
    ]);
    const given = asked.map((length, i) => ({ ...length, value: [2, 32, 48][i] ?? 0 }));
    expect(shapesOf(inputs, given)).toEqual({ a: [2, 3, 32, 48], b: [2, 32] });
  });

  it('takes an input without a shape for a picture', () => {
    const asked = openLengths([input('x')]);
    const given = asked.map((length) => ({ ...length, value: length.proposal }));
    expect(shapesOf([input('x')], given)).toEqual({ x: [1, 3, 224, 224] });
  });

  it('asks nothing of a model whose shapes are known', () => {
    expect(openLengths([input('x', [1, 3, 8, 8])])).toEqual([]);
    expect(shapesOf([input('x', [1, 3, 8, 8])], [])).toEqual({});
  });
});
