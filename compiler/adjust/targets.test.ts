import { expect, test } from 'vitest';
import type { Graph, Node } from '../../graph/graph.ts';
import { float32Tensor } from '../../graph/tensor.ts';
import { findContractions } from '../calibrate/contractions.ts';
import { targetsOf } from './targets.ts';

/** A 1 x 1 convolution of 5 channels on a map of `size` x `size`, then some operators one after another. */
function graphOf(size: number, operators: readonly string[]): Graph {
  const nodes: Node[] = ['Conv', ...operators].map((opType, i) => ({
    name: `n${i}`,
    opType,
    domain: '',
    inputs: i === 0 ? ['x', 'w'] : [`v${i - 1}`],
    outputs: [`v${i}`],
    attributes: new Map(),
  }));
  const shape = [1, 5, size, size];
  return {
    name: 'g',
    inputs: [{ name: 'x', dataType: 'float32', shape: [1, 3, size, size] }],
    outputs: [{ name: `v${operators.length}`, dataType: 'float32', shape: [1, 5 * size * size] }],
    nodes,
    initializers: new Map([['w', float32Tensor([5, 3, 1, 1], new Float32Array(15))]]),
    values: new Map([
      ['x', { name: 'x', dataType: 'float32', shape: [1, 3, size, size] }],
      ...nodes.flatMap(({ outputs }) =>
        outputs.map((name) => [name, { name, dataType: 'float32', shape }] as const),
      ),
    ]),
  };
}

test.each([
  [1, [], 'scores'],
  [1, ['Flatten', 'Softmax'], 'scores'],
  [1, ['Softmax', 'Reshape'], 'scores'],
  [1, ['Flatten'], 'scores'],
  [1, ['Flatten', 'Sigmoid'], 'squares'],
  [4, ['Sigmoid', 'Flatten'], 'rectified'],
  [4, ['Tanh', 'Flatten'], 'rectified'],
  [4, ['LeakyRelu', 'Flatten'], 'squares'],
  [4, ['Flatten', 'Softmax'], 'squares'],
  [4, ['Relu', 'Flatten'], 'rectified'],
] as const)('on a map of %d, before %j: %s', (size, operators, error) => {
  const graph = graphOf(size, operators);
  const [target] = targetsOf(graph, findContractions(graph)).values();
  expect(target?.error).toBe(error);
});

test.each([
  [['v0', 'v1'], -1.28, Number.POSITIVE_INFINITY],
  [['v1', 'v0'], -1.28, Number.POSITIVE_INFINITY],
  // The sigmoid gates something else.
  [['v1', 'x'], -5, 5],
])('a product of %j, v1 the sigmoid of v0: what lies below %d hardly counts', (inputs, low, high) => {
  const graph = graphOf(4, ['Sigmoid', 'Mul']);
  const nodes = graph.nodes.map((node) => (node.opType === 'Mul' ? { ...node, inputs } : node));
  const [target] = targetsOf({ ...graph, nodes }, findContractions(graph)).values();
  expect(target?.bounds).toEqual({ low, high });
});
