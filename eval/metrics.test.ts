import { describe, expect, it } from 'vitest';
import { argmaxRows, lumaOf, maxAbsError, psnrY, topKCorrect } from './metrics.ts';

const grey = (level: number, width = 6, height = 6) => ({
  width,
  height,
  data: new Uint8Array(3 * width * height).fill(level),
});

describe('metrics', () => {
  it('finds the largest of each row, and the labels among the k largest', () => {
    const scores = Float32Array.of(0.1, 0.7, 0.2, 0.5, 0.3, 0.2);
    expect(argmaxRows(scores, 3)).toEqual([1, 0]);
    expect(topKCorrect(scores, 3, [1, 1], 1)).toBe(1);
    expect(topKCorrect(scores, 3, [1, 1], 2)).toBe(2);
  });

  it('gives nothing for scores that are all equal or not numbers', () => {
    expect(topKCorrect(new Float32Array(10), 10, [0], 1)).toBe(0);
    expect(topKCorrect(new Float32Array(10).fill(Number.NaN), 10, [0], 5)).toBe(0);
  });

  it('takes luma in video range: black 16, white 235, and green the brightest', () => {
    expect(lumaOf(grey(0))[0]).toBeCloseTo(16, 10);
    expect(lumaOf(grey(255))[0]).toBeCloseTo(235, 10);
    const green = lumaOf({ width: 1, height: 1, data: Uint8Array.of(0, 255, 0) });
    expect(green[0]).toBeCloseTo(144.553, 10);
  });

  it('measures PSNR inside the border', () => {
    // One grey level is 219/255 of luma.
    expect(psnrY(grey(100), grey(101), 0)).toBeCloseTo(20 * Math.log10(255 / (219 / 255)), 6);
    const spoilt = grey(100);
    spoilt.data.fill(0, 0, 18);
    expect(psnrY(spoilt, grey(100), 1)).toBe(Number.POSITIVE_INFINITY);
    expect(psnrY(spoilt, grey(100), 0)).toBeLessThan(20);
    expect(() => psnrY(grey(0), grey(0), 3)).toThrow(RangeError);
    expect(() => psnrY(grey(0), grey(0, 5), 0)).toThrow(RangeError);
  });

  it('takes the largest difference and never forgives a NaN', () => {
    expect(maxAbsError([1, 2, 3], [1, 2.5, 3])).toBe(0.5);
    expect(maxAbsError([1, Number.NaN], [1, 2])).toBe(Number.POSITIVE_INFINITY);
    expect(maxAbsError([Number.NaN], [Number.NaN])).toBe(0);
    expect(maxAbsError([Number.POSITIVE_INFINITY], [0])).toBe(Number.POSITIVE_INFINITY);
    expect(() => maxAbsError([1], [1, 2])).toThrow(RangeError);
  });
});
