import { describe, expect, it } from 'vitest';
import { AveragePrecision } from './averagePrecision.ts';
import type { Detection } from './boxes.ts';
import type { GroundTruth } from './voc.ts';

const at = (left: number) => ({ left, top: 0, right: left + 10, bottom: 10 });
const object = (label: number, left: number, difficult = false): GroundTruth => ({
  ...at(left),
  label,
  difficult,
});
const found = (label: number, left: number, score: number): Detection => ({ ...at(left), label, score });

function meanOf(...pictures: readonly (readonly [GroundTruth[], Detection[]])[]): number {
  const precision = new AveragePrecision();
  for (const [truth, detections] of pictures) precision.add(truth, detections);
  return precision.mean();
}

describe('average precision', () => {
  it('is 1 where everything is found and nothing else, 0 where nothing is', () => {
    expect(
      meanOf([
        [object(0, 0), object(1, 50)],
        [found(0, 1, 0.3), found(1, 50, 0.9)],
      ]),
    ).toBe(1);
    expect(meanOf([[object(0, 0)], []])).toBe(0);
    expect(meanOf([[object(0, 0)], [found(0, 6, 0.9)]])).toBe(0);
    expect(meanOf([[object(0, 0)], [found(1, 0, 0.9)]])).toBe(0);
  });

  it('counts a second box on one object as a mistake, and the order of scores', () => {
    // Hits at ranks 1 and 3 of 2 objects: 1/2 x 1 + 1/2 x 2/3.
    const truth = [object(0, 0), object(0, 50)];
    expect(meanOf([truth, [found(0, 0, 0.9), found(0, 1, 0.8), found(0, 50, 0.7)]])).toBeCloseTo(5 / 6, 12);
    // A later, better precision lifts the earlier recall: ranks 2 and 3 are hits, precision 2/3 at both.
    expect(meanOf([truth, [found(0, 90, 0.9), found(0, 0, 0.8), found(0, 50, 0.7)]])).toBeCloseTo(2 / 3, 12);
  });

  it('ranks over all pictures, and averages over classes that have objects', () => {
    const precision = meanOf(
      [[object(0, 0)], [found(0, 90, 0.9)]],
      [[object(0, 0)], [found(0, 0, 0.5)]],
      [[object(3, 0)], [found(3, 0, 0.1), found(7, 0, 0.99)]],
    );
    // Class 0: one hit at rank 2 of 2 objects; class 3: 1; class 7 occurs nowhere.
    expect(precision).toBeCloseTo((0.25 + 1) / 2, 12);
  });

  it('neither rewards nor punishes boxes on difficult objects', () => {
    const truth = [object(0, 0), object(0, 50, true)];
    expect(meanOf([truth, [found(0, 50, 0.9), found(0, 51, 0.8), found(0, 0, 0.5)]])).toBe(1);
    expect(meanOf([truth, [found(0, 0, 0.5)]])).toBe(1);
  });
});
