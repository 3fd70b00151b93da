import { expect, test } from 'vitest';
import { evaluate, type Output, type Task } from './task.ts';

const counts: Task<number> = {
  count: 3,
  *items() {
    for (const truth of [1, 2, 3]) yield { input: Float32Array.of(truth), dims: [1, 1], truth, count: 1 };
  },
  createScore() {
    let right = 0;
    return {
      add(truth, [output]) {
        if (output?.data[0] === truth) right++;
        return output?.data ?? [];
      },
      figures: () => ({ right }),
    };
  },
};

const times =
  (factor: number) =>
  async (input: Float32Array): Promise<Output[]> => [
    { name: 'y', dims: [1, 1], data: input.map((value) => (value === 3 ? value * factor : value)) },
  ];

test('scores the model and its original apart and says how often they decide alike', async () => {
  const seen: number[] = [];
  const onProgress = (done: number) => seen.push(done);
  expect(await evaluate(counts, { predict: times(2), original: times(1), onProgress })).toEqual({
    count: 3,
    figures: { right: 2 },
    original: { right: 3 },
    agreement: 2 / 3,
  });
  expect(seen).toEqual([1, 2, 3]);
  expect(await evaluate(counts, { predict: times(1) })).toEqual({ count: 3, figures: { right: 3 } });
});

test('decisions that only one of them makes are disagreements', async () => {
  const none = async () => [{ name: 'y', dims: [0], data: new Float32Array(0) }];
  expect(await evaluate(counts, { predict: none, original: times(1) })).toMatchObject({ agreement: 0 });
});
