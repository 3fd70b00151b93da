import { expect, test } from 'vitest';
import { toIndices } from '../../graph/ranges.ts';
import { applyMasks, type ExchangedValue, keptRatio, supportsOf } from './exchangedValues.ts';
import type { Parameter } from './parameters.ts';
import { keepAt, scoreFeatures, thin } from './thinning.ts';

/** Two shards; features 0 and 1 belong to the first; a 1 x 1 convolution to two outputs, one each. */
function exchange(value: string, featureSize: number): ExchangedValue {
  return {
    value,
    axis: 1,
    owners: [0, 0, 1, 1],
    featureSize,
    readers: [
      {
        node: `${value} conv`,
        weight: `${value} w`,
        outputAxis: 0,
        inputAxis: 1,
        outputOwners: [0, 1],
        features: [0, 1, 2, 3],
      },
    ],
    reads: [new Uint8Array(4).fill(1), new Uint8Array(4).fill(1)],
  };
}

function weight(values: readonly number[]): Parameter {
  return {
    dims: [2, 4, 1, 1],
    value: Float32Array.from(values),
    velocity: new Float32Array(values.length),
    mask: undefined,
  };
}

test('a feature counts by the energy that it adds: weight squared times mean square', () => {
  const values = [exchange('a', 4)];
  const parameters = new Map([['a w', weight([1, 1, 1, 2, 3, 1, 1, 1])]]);
  const moments = new Map([['a', Float32Array.of(1, 1, 9, 1)]]);
  const [scores] = scoreFeatures(values, parameters, moments);
  // First output: energies 1, 1, 9, 4; second: 9, 1, 9, 1.
  expect([...(scores?.[0] ?? [])]).toEqual([1 / 15, 1 / 15, 9 / 15, 4 / 15]);
  expect([...(scores?.[1] ?? [])]).toEqual([9 / 20, 1 / 20, 9 / 20, 1 / 20]);
  thin(values, scores === undefined ? [] : [scores], 0.5, 'uniform');
  expect([...supportsOf(values)].map(([node, ranges]) => [node, ranges.map(toIndices)])).toEqual([
    ['a conv', [[0, 1, 2], [0, 2, 3]]],
  ]); // biome-ignore format: one line
  expect(keptRatio(values)).toEqual({ features: 0.5, elements: 0.5 });

  applyMasks(values, parameters);
  expect([...(parameters.get('a w')?.mask ?? [])]).toEqual([1, 1, 1, 0, 1, 0, 1, 1]);
});

test('what is dropped stays dropped, and own features are never dropped', () => {
  const values = [exchange('a', 1)];
  const scores = [[Float64Array.of(0, 0, 1, 2), Float64Array.of(2, 1, 0, 0)]];
  thin(values, scores, 0.5, 'uniform');
  const reversed = [[Float64Array.of(9, 9, 9, 0), Float64Array.of(0, 9, 9, 9)]];
  thin(values, reversed, 0.5, 'uniform');
  expect(values[0]?.reads.map((list) => [...list])).toEqual([
    [1, 1, 0, 1],
    [1, 0, 1, 1],
  ]);
  thin(values, reversed, 0, 'uniform');
  expect(values[0]?.reads.map((list) => [...list])).toEqual([
    [1, 1, 0, 0],
    [0, 0, 1, 1],
  ]);
});

test('one budget for all values spends elements where they count most', () => {
  const values = [exchange('large', 100), exchange('small', 1)];
  const equal = values.map(() => [new Float64Array(4).fill(1), new Float64Array(4).fill(1)]);
  thin(values, equal, 0.5, 'global');
  expect(values[1]?.reads.flatMap((list) => [...list])).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
  const { features, elements } = keptRatio(values);
  expect(elements).toBeLessThanOrEqual(0.51);
  expect(features).toBeGreaterThan(0.7);
});

test('the kept ratio falls to its end in steps, and nothing is due between them', () => {
  const schedule = { from: 1, to: 0.2, start: 10, end: 50, every: 5 };
  const ratios = Array.from({ length: 60 }, (_, step) => keepAt(schedule, step));
  const due = ratios.flatMap((ratio, step) => (ratio === undefined ? [] : [step]));
  expect(due).toEqual([10, 15, 20, 25, 30, 35, 40, 45, 50]);
  const values = due.map((step) => ratios[step] ?? Number.NaN);
  expect([values[0], values.at(-1)]).toEqual([1, 0.2]);
  expect(values.slice(1).every((ratio, i) => ratio < (values[i] ?? 0))).toBe(true);
});
