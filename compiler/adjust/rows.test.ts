import { expect, test } from 'vitest';
import { joinedRows, type RowBatch } from './rows.ts';

async function* stream(sizes: readonly number[]): AsyncGenerator<RowBatch> {
  let row = 0;
  for (const rows of sizes) {
    const numbers = Float32Array.from({ length: rows }, () => row++);
    yield { rows, inputs: numbers, targets: numbers, addends: undefined };
  }
}

async function sizesOf(sizes: readonly number[]): Promise<number[]> {
  const total = sizes.reduce((a, b) => a + b, 0);
  const blocks: RowBatch[] = [];
  for await (const block of joinedRows(stream(sizes), total)) blocks.push(block);
  expect(blocks.flatMap(({ inputs }) => [...inputs])).toEqual(Array.from({ length: total }, (_, i) => i));
  return blocks.map(({ rows }) => rows);
}

test('batches of single rows become blocks, of which ten are left; large ones stay as they are', async () => {
  expect(await sizesOf(Array.from({ length: 500 }, () => 1))).toEqual(Array.from({ length: 10 }, () => 50));
  expect(await sizesOf([5000, 5000])).toEqual([5000, 5000]);
  expect(await sizesOf([3, 3, 3, 1])).toEqual([3, 3, 3, 1]);
  expect(await sizesOf(Array.from({ length: 40 }, () => 1000))).toEqual([
    ...Array.from({ length: 13 }, () => 3000),
    1000,
  ]);
});
