import { expect, test } from 'vitest';
import { Confusion } from './confusion.ts';

test('intersection over union of each class, without void pixels and absent classes', () => {
  const confusion = new Confusion(3);
  confusion.add([0, 0, 0, 1, 11, 11], [0, 0, 1, 1, 2, 0]);
  expect(confusion.intersectionOverUnion()).toEqual([2 / 3, 1 / 2, undefined]);
  expect(confusion.meanIntersectionOverUnion()).toBeCloseTo(7 / 12, 12);
  expect(confusion.pixelAccuracy()).toBe(0.75);
  // Over the whole set, not the mean of pictures.
  confusion.add([1, 1], [1, 2]);
  expect(confusion.intersectionOverUnion()).toEqual([2 / 3, 2 / 4, 0]);
});
