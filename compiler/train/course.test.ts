import { expect, test } from 'vitest';
import { courseKeep, courseOf, courseRate, falls, segmentAt } from './course.ts';

const course = courseOf({ levels: [0.4, 0.1, 0], target: 0.2, steps: 1000 });

test('the target is settled as soon as the trunk is there, the others from the lowest up', () => {
  expect(course.map(({ kind, from, keep }) => [kind, from, keep])).toEqual([
    ['trunk', 1, 0.4],
    ['trunk', 0.4, 0.2],
    ['branch', 0.2, 0.2],
    ['trunk', 0.2, 0.1],
    ['trunk', 0.1, 0],
    ['branch', 0, 0],
    ['branch', 0.1, 0.1],
    ['branch', 0.4, 0.4],
  ]);
  expect(course.reduce((sum, { steps: own }) => sum + own, 0)).toBe(1000);
  for (const [i, { start }] of course.entries()) {
    const before = course[i - 1];
    expect(start).toBe(before === undefined ? 0 : before.start + before.steps);
  }
});

test('steps that do not reach every level are refused, and what is named as enough is', () => {
  const settings = { levels: [0.4, 0.1, 0.05, 0], target: 0.2 };
  expect(() => courseOf({ ...settings, steps: 6 })).toThrow(
    /at least 13 steps for the kept ratios 0.2, 0, 0.05, 0.1, 0.4, got 6/,
  );
  const shortest = courseOf({ ...settings, steps: 13 });
  expect(Math.min(...shortest.map(({ steps }) => steps))).toBe(1);
});

test.each([1000, 40, 14])(
  'in %d steps, the trunk thins to exactly its levels; a branch thins nothing',
  (count) => {
    const course = courseOf({ levels: [0.4, 0.1, 0], target: 0.2, steps: count });
    let keep = 1;
    for (let step = 0; step < count; step++) {
      const segment = segmentAt(course, step);
      if (step === segment?.start) keep = segment.from;
      const due = courseKeep(course, step);
      if (segment?.kind === 'branch') expect(due).toBeUndefined();
      if (due !== undefined) expect(due).toBeLessThanOrEqual(keep);
      keep = due ?? keep;
      if (segment !== undefined && step === segment.start + segment.steps - 1)
        expect(keep).toBe(segment.keep);
    }
  },
);

test.each(falls)(
  'the rate warms up once, stays along the trunk, and falls to almost nothing (%s)',
  (fall) => {
    const rateAt = (step: number) => courseRate(course, { peak: 0.1, fall }, step);
    expect(rateAt(0)).toBeLessThan(0.01);
    for (const segment of course) {
      const end = segment.start + segment.steps - 1;
      expect(rateAt(segment.kind === 'trunk' ? end : segment.start)).toBeCloseTo(0.1, 9);
      if (segment.kind === 'branch') expect(rateAt(end)).toBeLessThan(0.002);
    }
  },
);
