import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Fit, fitLabels, placePicture } from './pictureFit.ts';

const wide = { width: 60, height: 40 };
const square = { width: 30, height: 30 };

describe('placePicture', () => {
  it.each([
    ['stretch', { left: 0, top: 0, width: 30, height: 30 }],
    ['crop', { left: -8, top: 0, width: 45, height: 30 }],
    ['letterbox', { left: 0, top: 5, width: 30, height: 20 }],
    ['corner', { left: 0, top: 0, width: 30, height: 20 }],
  ] as const)('%s', (fit, placed) => expect(placePicture(fit, wide, square)).toEqual(placed));

  it('of the same shape fills the canvas, whatever is chosen', () => {
    for (const fit of Object.keys(fitLabels) as Fit[]) {
      expect(placePicture(fit, { width: 90, height: 90 }, square)).toEqual({ left: 0, top: 0, ...square });
    }
  });

  it('covers the canvas or lies within it, and keeps one side', () => {
    const size = fc.record({
      width: fc.integer({ min: 1, max: 900 }),
      height: fc.integer({ min: 1, max: 900 }),
    });
    fc.assert(
      fc.property(size, size, fc.constantFrom('crop', 'letterbox', 'corner'), (picture, canvas, fit) => {
        const { left, top, width, height } = placePicture(fit, picture, canvas);
        expect(width === canvas.width || height === canvas.height).toBe(true);
        const larger = width >= canvas.width && height >= canvas.height;
        const smaller = width <= canvas.width && height <= canvas.height;
        expect(fit === 'crop' ? larger && left <= 0 && top <= 0 : smaller && left >= 0 && top >= 0).toBe(
          true,
        );
      }),
    );
  });
});
