import { expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import { GraphWriter } from '../../tests/support/graphWriter.ts';
import { int } from '../../tests/support/operatorCase.ts';
import { findContractions } from '../calibrate/contractions.ts';
import { contractionRows, joinedRows, type RowBatch } from './rows.ts';

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

test('a concatenation is gathered from its parts', async () => {
  const graph = concatenating();
  const [contraction] = findContractions(graph);
  if (contraction === undefined) throw new Error('There is no contraction.');
  expect(contraction.inputParts).toEqual(['a', 'b']);
  const part = (channels: number, first: number) => ({
    dims: [2, channels, 1, 2],
    data: Float32Array.from({ length: 4 * channels }, (_, i) => first + i),
  });
  const seen = new Map([
    ['a', part(1, 0)],
    ['b', part(2, 100)],
  ]);
  const dense = [{ positions: Int32Array.of(0, 3), targets: new Float32Array(2) }];
  const target = { value: 'y', addend: undefined, error: 'squares' } as const;
  async function* walk() {
    yield seen;
  }
  const rows: RowBatch[] = [];
  for await (const batch of contractionRows(contraction, target, dense, walk())) rows.push(batch);
  // Sample by sample, then place by place; each row ends with the constant.
  expect(rows.map(({ inputs }) => [...inputs])).toEqual([[0, 100, 102, 1, 3, 105, 107, 1]]);
});

/** x makes a and b, which are concatenated into what a 1 x 1 convolution reads. */
function concatenating(): Graph {
  const writer = new GraphWriter(1);
  const conv = (inputs: string[], channels: number) => writer.node('Conv', inputs, [2, channels, 1, 2]);
  const a = conv(['x', writer.weight([1, 1, 1, 1], 1)], 1);
  const b = conv(['x', writer.weight([2, 1, 1, 1], 1)], 2);
  const joined = writer.node('Concat', [a, b], [2, 3, 1, 2], { axis: int(-3) });
  const y = conv([joined, writer.weight([1, 3, 1, 1], 1)], 1);
  const names = new Map([
    [a, 'a'],
    [b, 'b'],
    [y, 'y'],
  ]);
  const named = (name: string) => names.get(name) ?? name;
  const info = (name: string, shape: readonly number[]) => ({ name, dataType: 'float32' as const, shape });
  return {
    name: 'concatenating',
    nodes: writer.nodes
      .map((node) => ({ ...node, inputs: node.inputs.map(named), outputs: node.outputs.map(named) }))
      // Only the last is a contraction.
      .map((node) => (node.inputs[0] === 'x' ? { ...node, opType: 'Expand' } : node)),
    inputs: [info('x', [2, 1, 1, 2])],
    outputs: [info('y', [2, 1, 1, 2])],
    initializers: writer.initializers,
    values: new Map([...writer.shapes].map(([name, shape]) => [named(name), info(named(name), shape)])),
  };
}
