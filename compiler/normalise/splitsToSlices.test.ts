import { expect, test } from 'vitest';
import type { Model, Node } from '../../graph/graph.ts';
import { readIntegers } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { splitsToSlices } from './splitsToSlices.ts';

const context = { backend: {} as Backend, shapes: {} };

function model(shapes: Readonly<Record<string, readonly number[]>>): Model {
  const split: Node = {
    name: 'split',
    opType: 'Split',
    domain: '',
    inputs: ['x'],
    outputs: ['a', 'b', 'c'],
    attributes: new Map([['axis', { type: 'int', value: -2 }]]),
  };
  const value = (name: string) => {
    const shape = shapes[name];
    return { name, dataType: 'float32' as const, ...(shape === undefined ? {} : { shape }) };
  };
  return {
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: '',
    metadata: new Map(),
    graph: {
      name: 'g',
      inputs: [value('x')],
      outputs: [value('a'), value('c')],
      nodes: [split],
      initializers: new Map(),
      values: new Map([['b', value('b')]]),
    },
  };
}

test('one Slice for each output that is read, at its own place', async () => {
  const shapes = { x: [1, 6, 4], a: [1, 1, 4], b: [1, 2, 4], c: [1, 3, 4] };
  const { graph } = await splitsToSlices(model(shapes), context);
  expect(graph.nodes.map(({ opType, outputs }) => `${opType} ${outputs}`)).toEqual(['Slice a', 'Slice c']);
  const limits = graph.nodes.map(({ inputs }) =>
    inputs.slice(1).flatMap((name) => {
      const tensor = graph.initializers.get(name);
      return tensor === undefined ? [] : readIntegers(tensor);
    }),
  );
  expect(limits).toEqual([
    [0, 1, 1],
    [3, 6, 1],
  ]);
});

test('without shapes it stays', async () => {
  const { graph } = await splitsToSlices(model({}), context);
  expect(graph.nodes.map(({ opType }) => opType)).toEqual(['Split']);
});
