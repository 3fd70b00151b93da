import { describe, expect, it } from 'vitest';
import { type Detection, intersectionOverUnion, suppress } from './boxes.ts';

const box = (left: number, top: number, right: number, bottom: number) => ({ left, top, right, bottom });
const detection = (label: number, score: number, left: number): Detection => ({
  ...box(left, 0, left + 10, 10),
  label,
  score,
});

describe('boxes', () => {
  it('overlap by the shared area over the area of both', () => {
    expect(intersectionOverUnion(box(0, 0, 2, 2), box(0, 0, 2, 2))).toBe(1);
    expect(intersectionOverUnion(box(0, 0, 2, 2), box(1, 1, 3, 3))).toBeCloseTo(1 / 7, 12);
    expect(intersectionOverUnion(box(0, 0, 2, 2), box(2, 0, 4, 2))).toBe(0);
    expect(intersectionOverUnion(box(0, 0, 2, 2), box(5, 5, 6, 6))).toBe(0);
  });

  it('keep the best of those that overlap, within a class only', () => {
    const [weak, best, other, apart] = [
      detection(1, 0.5, 1),
      detection(1, 0.9, 0),
      detection(2, 0.4, 0),
      detection(1, 0.3, 20),
    ];
    expect(suppress([weak, best, other, apart], 0.5)).toEqual([best, other, apart]);
    // 9 / 11 of both is shared.
    expect(suppress([weak, best], 0.82)).toEqual([best, weak]);
  });

  it('a suppressed box suppresses nothing', () => {
    const chain = [detection(1, 0.9, 0), detection(1, 0.8, 3), detection(1, 0.7, 6)];
    expect(suppress(chain, 0.5)).toEqual([chain[0], chain[2]]);
  });
});
