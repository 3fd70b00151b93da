import { expect, test } from 'vitest';
import { divergence, relativeError } from './outputs.ts';

const scores = (rows: readonly (readonly number[])[]) => [
  [{ dims: [rows.length, rows[0]?.length ?? 0], data: Float32Array.from(rows.flat()) }],
];

const softmax = (row: readonly number[]) => {
  const powers = row.map(Math.exp);
  return powers.map((power) => power / powers.reduce((a, b) => a + b, 0));
};

test('scores count as a softmax reads them: a shift of all is nothing, logits and probabilities agree', () => {
  const expected = [
    [2, 0, -1],
    [0, 1, 0.5],
  ];
  const got = [
    [1, 0.5, -1],
    [0.2, 0.1, 0.3],
  ];
  const shifted = expected.map((row) => row.map((value) => value + 7));
  expect(divergence(scores(expected), scores(shifted))).toBeCloseTo(0, 6);
  const nats =
    expected.reduce((sum, row, i) => {
      const [p, q] = [softmax(row), softmax(got[i] ?? [])];
      return sum + p.reduce((a, value, k) => a + value * Math.log(value / (q[k] ?? 0)), 0);
    }, 0) / 2;
  expect(divergence(scores(expected), scores(got))).toBeCloseTo(nats, 5);
  expect(divergence(scores(expected.map(softmax)), scores(got.map(softmax)))).toBeCloseTo(nats, 5);
});

test.each([
  ['columns of rows', [1, 2, 3]],
  ['channels of maps', [1, 3, 1, 2]],
])('features of any size count, beside the output as a whole: %s', (_, dims) => {
  // Boxes of tens, a score of tenths that is all missed, and one that is nearly nothing.
  const features = [
    [30, 10],
    [0.6, 0.8],
    [0.001, 0],
  ];
  const outputs = (list: readonly (readonly number[])[]) => {
    const rows = dims.length === 3 ? [0, 1].map((row) => list.map((values) => values[row] ?? 0)) : list;
    return [[{ dims, data: Float32Array.from(rows.flat()) }]];
  };
  const got = outputs([
    [30, 10],
    [0, 0],
    [0, 0],
  ]);
  const least = (0.01 * 1001) / 3;
  expect(relativeError(outputs(features), got)).toBeCloseTo((1 / 1001 + 1 / least / 3) / 2, 6);
});

test('other outputs count by their squares', () => {
  const maps = (values: readonly number[]) => [[{ dims: [1, 1, 2, 2], data: Float32Array.from(values) }]];
  const [expected, got] = [maps([1, 2, 2, 4]), maps([1, 2, 3, 4])];
  expect(relativeError(expected, got)).toBeCloseTo(1 / 25, 6);
  expect(divergence(expected, got)).toBeCloseTo(1 / 25, 6);
});
