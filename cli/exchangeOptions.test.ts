import { expect, test } from 'vitest';
import type { Model } from '../graph/graph.ts';
import { localLink } from '../runtime/predict/costModel.ts';
import { type ExchangeValues, parseExchange } from './exchangeOptions.ts';

const given = (values: Partial<ExchangeValues>): ExchangeValues => ({
  wire: 'float32',
  'wire-scale': 'feature',
  ...values,
});
const noModel = (): Model => {
  throw new Error('The model is read only where samples are.');
};
const parse = (values: Partial<ExchangeValues>) => parseExchange(given(values), 2, localLink, noModel);

test.each([
  [{ keep: '0.2' }, /needs sample inputs/],
  [{ wire: 'uint8' }, /needs sample inputs/],
  [{ calibrate: 'x.npy' }, /need a budget|needs a budget/],
  [{ normalise: 'unit' }, /--normalise needs sample inputs/],
  [{ labels: 'l.npy', wire: 'float16' }, /--labels needs sample inputs/],
  [{ loss: '0.1' }, /--loss needs --latency/],
  [{ capacity: '3,1' }, /--capacity needs a budget/],
  [{ calibrate: 'x.npy', keep: '0.2', capacity: '3,1,1' }, /2 positive numbers/],
  [{ calibrate: 'x.npy', keep: '0.2', capacity: '3,0' }, /2 positive numbers/],
  [{ keep: '1.5', calibrate: 'x.npy' }, /from 0 to 1/],
  [{ keep: '', calibrate: 'x.npy' }, /from 0 to 1/],
  [{ bytes: 'many', calibrate: 'x.npy' }, /whole number/],
  [{ rounds: '-1', calibrate: 'x.npy' }, /whole number/],
  [{ within: 'soon', calibrate: 'x.npy' }, /like 40ms/],
  [{ sparsity: '1', calibrate: 'x.npy' }, /below 1/],
  [{ sparsity: '0.5' }, /needs sample inputs/],
  [{ latency: true }, /--latency needs sample inputs/],
  [{ latency: true, keep: '0.2', calibrate: 'x.npy' }, /looks for .* itself/],
  [{ latency: true, wire: 'uint8', calibrate: 'x.npy' }, /looks for .* itself/],
  [{ latency: true, loss: '2', calibrate: 'x.npy' }, /--loss from 0 to 1/],
  [{ wire: 'int4' }, /float32 or float16 or uint8/],
  [{ 'wire-scale': 'row' }, /feature or tensor/],
] as const)('refuses %o', async (values, message) => {
  await expect(parse(values)).rejects.toThrow(message);
});

test('float16 needs no samples', async () => {
  const options = (await parse({ wire: 'float16' }))({});
  expect(options).toEqual({ wire: { type: 'float16', scalePer: 'feature' } });
});
