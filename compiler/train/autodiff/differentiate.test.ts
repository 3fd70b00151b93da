import { expect, test } from 'vitest';
import { createHeapBackend } from '../../../backends/ortHeap.ts';
import type { Graph } from '../../../graph/graph.ts';
import { seededRandom } from '../../../graph/random.ts';
import { float32Tensor } from '../../../graph/tensor.ts';
import { type GradientCase, gradientError } from '../../../tests/support/centralDifferences.ts';
import { gradientCases } from '../../../tests/support/gradients/gradientCases.ts';
import { differentiate } from './differentiate.ts';
import { differentiableOperators } from './rules/rules.ts';

const backend = await createHeapBackend();
/** Cases per operator; every case has its own seed, which a failure names. */
const casesPerOperator = 8;

for (const opType of differentiableOperators) {
  test(`the gradient of ${opType} agrees with central differences`, async () => {
    for (let seed = 1; seed <= casesPerOperator; seed++) {
      const random = seededRandom(seed * 7919);
      const error = await gradientError(backend, gradientCases[opType](opType, random), random);
      expect(error, `seed ${seed}`).toBeLessThan(0.01);
    }
  });
}

test('a gradient that is wrong is noticed', async () => {
  const random = seededRandom(1);
  // The derivative of |x| at its bend: central differences see 0, the rule its side.
  const bend: GradientCase = { opType: 'Abs', inputs: [float32Tensor([2], [0.001, 1])] };
  expect(await gradientError(backend, bend, random)).toBeGreaterThan(0.05);
});

const shaped = (name: string, shape: number[]) => ({ name, dataType: 'float32' as const, shape });

test('an operator without a rule is named', () => {
  const graph: Graph = {
    name: 'g',
    inputs: [shaped('x', [1])],
    outputs: [shaped('y', [1])],
    nodes: [
      { name: 'odd', opType: 'Cosh', domain: '', inputs: ['x'], outputs: ['y'], attributes: new Map() },
    ],
    initializers: new Map(),
    values: new Map(),
  };
  expect(() => differentiate(graph, 'y', ['x'])).toThrow(/"odd" \(Cosh\)/);
});
