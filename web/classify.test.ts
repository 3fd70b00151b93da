import { describe, expect, it } from 'vitest';
import { likeliest } from './classify.ts';

describe('the likeliest classes', () => {
  it('are the greatest scores, as probabilities that are one together', () => {
    const top = likeliest(Float32Array.of(1, 3, 2), ['cat', 'dog', 'ship'], 3);
    expect(top.map(({ name }) => name)).toEqual(['dog', 'ship', 'cat']);
    expect(top[0]?.probability).toBeCloseTo(Math.E ** 2 / (Math.E ** 2 + Math.E + 1), 6);
    expect(top.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 6);
  });

  it('stay what they are where the model gives probabilities', () => {
    const [first] = likeliest(Float32Array.of(0.25, 0.5, 0.25), [], 1);
    expect(first).toEqual({ index: 1, name: 'class 1', probability: 0.5 });
  });

  it('survive scores that no exponential can hold', () => {
    const top = likeliest(Float32Array.of(1000, 999, -1000), [], 3);
    expect(top[0]?.probability).toBeCloseTo(1 / (1 + Math.exp(-1)), 6);
    expect(top[2]?.probability).toBe(0);
  });
});
