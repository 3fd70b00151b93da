/** Features that nobody reads: no shard makes them, but one device alone runs the graph as it is, and has their weights. */
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Graph } from '../../graph/graph.ts';
import { int64Tensor } from '../../graph/tensor.ts';
import { compiledPlan, modelBytes, roomAnswer, unnamed, wholeAnswer } from '../support/dividedAnswer.ts';
import { ints, random } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

const pads = { pads: ints(1, 1, 1, 1) };

/** Of 16 channels the last six, of 12 rows the upper half. */
const graph: Graph = {
  name: 'unread',
  inputs: [{ name: 'x', dataType: 'float32', shape: [1, 3, 12, 12] }],
  outputs: [{ name: 'y', dataType: 'float32' }],
  nodes: [
    unnamed('Conv', ['x', 'w', 'b'], ['a'], pads),
    unnamed('Slice', ['a', 'starts', 'ends', 'axes'], ['c']),
    unnamed('Conv', ['c', 'v'], ['y'], pads),
  ],
  initializers: new Map([
    ['w', random([16, 3, 3, 3])],
    ['b', random([16])],
    ['v', random([8, 6, 3, 3])],
    ['starts', int64Tensor([10, 0])],
    ['ends', int64Tensor([16, 6])],
    ['axes', int64Tensor([1, 2])],
  ]),
  values: new Map(),
};

test.each(['channels', 'rows'] as const)('by %s', async (axis) => {
  const backend = await createHeapBackend();
  const bytes = modelBytes(graph, 17);
  const x = random([1, 3, 12, 12]);
  const { y = x } = await wholeAnswer(backend, bytes, { x });
  const compiled = await compiledPlan(backend, bytes, { numShards: 3, axis });
  for (const placement of [[[0, 1, 2]], [[0], [1], [2]], [[2, 0], [1]], [[], [1, 2, 0]]]) {
    const outputs = await roomAnswer(backend, compiled, { x }, placement);
    expect(tensorDifference(y, outputs['y']), JSON.stringify(placement)).toBeUndefined();
  }
});
