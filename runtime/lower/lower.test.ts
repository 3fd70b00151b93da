import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { divideByChannels } from '../../compiler/divide/divideChannels.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import { wholeWeights } from '../weights/blob.ts';

function node(
  opType: string,
  inputs: string[],
  output: string,
  attributes: Record<string, Attribute> = {},
): Node {
  return {
    name: output,
    opType,
    domain: '',
    inputs,
    outputs: [output],
    attributes: new Map(Object.entries(attributes)),
  };
}

function weights(dims: number[], seed: number): Tensor {
  const count = dims.reduce((a, b) => a * b, 1);
  return float32Tensor(
    dims,
    Array.from({ length: count }, (_, i) => Math.sin(seed + i * 1.7) * 0.3),
  );
}

const shapes: Record<string, number[]> = {
  x: [1, 3, 8, 8],
  a: [1, 10, 8, 8],
  b: [1, 10, 8, 8],
  c: [1, 10, 8, 8],
  d: [1, 10, 8, 8],
  e: [1, 20, 8, 8],
  f: [1, 6, 8, 8],
  y: [1, 6, 1, 1],
};

const graph: Graph = {
  name: 'g',
  inputs: [{ name: 'x', dataType: 'float32', shape: shapes['x'] ?? [] }],
  outputs: [{ name: 'y', dataType: 'float32', shape: shapes['y'] ?? [] }],
  nodes: [
    node('Conv', ['x', 'w0', 'b0'], 'a', { pads: { type: 'ints', value: [1, 1, 1, 1] } }),
    node('Relu', ['a'], 'b'),
    node('Conv', ['b', 'w1'], 'c', { pads: { type: 'ints', value: [1, 1, 1, 1] } }),
    node('Add', ['b', 'c'], 'd'),
    node('Concat', ['d', 'b'], 'e', { axis: { type: 'int', value: 1 } }),
    node('Conv', ['e', 'w2'], 'f'),
    node('GlobalAveragePool', ['f'], 'y'),
  ],
  initializers: new Map([
    ['w0', weights([10, 3, 3, 3], 1)],
    ['b0', weights([10], 2)],
    ['w1', weights([10, 10, 3, 3], 3)],
    ['w2', weights([6, 20, 1, 1], 4)],
  ]),
  values: new Map(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [
      name,
      { name, dataType: 'float32' as const, shape: shapes[name] ?? [] },
    ]),
  ),
};
const model = { irVersion: 8, opsets: new Map([['', 17]]), producer: 't', metadata: new Map(), graph };

test.each([
  [1, [[0]]],
  [2, [[0, 1]]],
  [2, [[0], [1]]],
  [3, [[1], [2, 0]]],
  [4, [[3], [], [0, 2], [1]]],
])('%d shards on %j', async (n, placement) => {
  const backend = await createHeapBackend();
  const division = divideByChannels(graph, n);
  const plan = { model, division, openBatch: true, weights: wholeWeights(model) };
  const whole = await openLocalRoom({
    planOf: () => ({ ...plan, division: { numShards: 1, shardings: new Map() } }),
    placement: [[0]],
    backend,
  });
  const room = await openLocalRoom({ planOf: () => plan, placement, backend });
  const x = weights([1, 3, 8, 8], 9);
  const expected = await whole.run({ x });
  const got = await room.run({ x });
  const a = float32View(expected.outputs['y'] as Tensor);
  const b = float32View(got.outputs['y'] as Tensor);
  console.log(
    n,
    JSON.stringify(placement),
    room.room.rounds,
    room.room.exchangedBytes,
    got.stats,
    room.room.programs.map((p) => p.macs),
  );
  a.forEach((value, i) => {
    expect(b[i]).toBeCloseTo(value, 5);
  });
  await room.close();
  await whole.close();
});

test.each([
  [2, [[0], [1]]],
  [3, [[1], [2, 0]]],
  [4, [[3], [], [0, 2], [1]]],
])('%d strips on %j', async (n, placement) => {
  const backend = await createHeapBackend();
  const { divideByRows } = await import('../../compiler/divide/divideRows.ts');
  const division = divideByRows(graph, n);
  const plan = { model, division, openBatch: true, weights: wholeWeights(model) };
  const whole = await openLocalRoom({
    planOf: () => ({ ...plan, division: { numShards: 1, shardings: new Map() } }),
    placement: [[0]],
    backend,
  });
  const room = await openLocalRoom({ planOf: () => plan, placement, backend });
  const x = weights([1, 3, 8, 8], 9);
  const expected = await whole.run({ x });
  const got = await room.run({ x });
  const a = float32View(expected.outputs.y as Tensor);
  const b = float32View(got.outputs.y as Tensor);
  console.log(
    n,
    JSON.stringify(placement),
    room.room.rounds,
    room.room.exchangedBytes,
    got.stats,
    room.room.programs.map((p) => p.macs),
  );
  a.forEach((value, i) => {
    expect(b[i]).toBeCloseTo(value, 5);
  });
  await room.close();
  await whole.close();
});
