import { expect, test } from 'vitest';
import type { Attribute, Model, Node } from '../../graph/graph.ts';
import { float32Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { raiseToSeven } from './raiseToSeven.ts';

const context = { backend: {} as Backend, shapes: {} };
const flag = (value: number): Attribute => ({ type: 'int', value });

function model(inputs: readonly string[], attributes: Record<string, Attribute>, opType = 'Add'): Model {
  const node: Node = {
    name: 'n',
    opType,
    domain: '',
    inputs,
    outputs: ['y'],
    attributes: new Map(Object.entries(attributes)),
  };
  return {
    irVersion: 3,
    opsets: new Map([['', 6]]),
    producer: '',
    metadata: new Map(),
    graph: {
      name: 'g',
      inputs: [
        { name: 'x', dataType: 'float32', shape: [1, 3, 4, 5] },
        { name: 'z', dataType: 'float32', shape: [3] },
      ],
      outputs: [{ name: 'y', dataType: 'float32' }],
      nodes: [node],
      initializers: new Map([['w', float32Tensor([3, 4], Array<number>(12).fill(1))]]),
      values: new Map(),
    },
  };
}

test('a constant operand gets axes behind its own', async () => {
  const { graph, opsets } = await raiseToSeven(
    model(['x', 'w'], { axis: flag(1), broadcast: flag(1) }),
    context,
  );
  const [node] = graph.nodes;
  expect(opsets.get('')).toBe(7);
  expect(node?.attributes.size).toBe(0);
  expect(graph.initializers.get(node?.inputs[1] ?? '')?.dims).toEqual([3, 4, 1]);
});

test('a computed operand is unsqueezed', async () => {
  const { graph } = await raiseToSeven(model(['x', 'z'], { axis: flag(1), broadcast: flag(1) }), context);
  expect(graph.nodes.map(({ opType }) => opType)).toEqual(['Unsqueeze', 'Add']);
  expect(graph.nodes[0]?.attributes.get('axes')?.value).toEqual([1, 2]);
});

test("a slope of PRelu is per channel, and Gemm's broadcasting is NumPy's", async () => {
  const slope = await raiseToSeven(model(['x', 'z'], {}, 'PRelu'), context);
  expect(slope.graph.nodes[0]?.attributes.get('axes')?.value).toEqual([1, 2]);
  const gemm = await raiseToSeven(model(['x', 'z'], { broadcast: flag(1) }, 'Gemm'), context);
  expect(gemm.graph.nodes[0]?.attributes.size).toBe(0);
});

test('what cannot be raised is named', () => {
  expect(() => raiseToSeven(model(['x'], {}, 'LSTM'), context)).toThrow(/"n" \(LSTM\)/);
});
