/** Attention and RotaryEmbedding as operators (opset 23): a block of a transformer gives the whole's answer, its heads divided. */
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Graph } from '../../graph/graph.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import { answers, modelBytes, unnamed } from '../support/dividedAnswer.ts';
import { int, random } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

const [tokens, width, heads] = [12, 64, 4];
const length = width / heads;

/** Small enough that scores stay within reach of each other. */
const weights = (...dims: number[]) =>
  float32Tensor(
    dims,
    float32View(random(dims)).map((value) => value / 8),
  );

const turned = { num_heads: int(heads) };
const graph: Graph = {
  name: 'block',
  inputs: [{ name: 'x', dataType: 'float32', shape: ['N', tokens, width] }],
  outputs: [{ name: 'y', dataType: 'float32' }],
  nodes: [
    unnamed('RMSNormalization', ['x', 'scale'], ['n']),
    ...['q', 'k', 'v'].map((name) => unnamed('MatMul', ['n', `w${name}`], [name])),
    unnamed('RotaryEmbedding', ['q', 'cos', 'sin'], ['turnedQ'], turned),
    unnamed('RotaryEmbedding', ['k', 'cos', 'sin'], ['turnedK'], turned),
    unnamed('Attention', ['turnedQ', 'turnedK', 'v'], ['a'], {
      q_num_heads: int(heads),
      kv_num_heads: int(heads),
      is_causal: int(1),
    }),
    unnamed('MatMul', ['a', 'wo'], ['o']),
    unnamed('Add', ['x', 'o'], ['y']),
  ],
  initializers: new Map([
    ['scale', random([width])],
    ['cos', random([1, tokens, length / 2])],
    ['sin', random([1, tokens, length / 2])],
    ...['wq', 'wk', 'wv', 'wo'].map((name) => [name, weights(width, width)] as const),
  ]),
  values: new Map(),
};

test.each(['channels', 'rows'] as const)('by %s', async (axis) => {
  const backend = await createHeapBackend();
  const x = random([1, tokens, width]);
  const { expected, outputs, plan } = await answers(
    backend,
    modelBytes(graph, 23),
    { x },
    { numShards: 2, axis },
  );
  expect(tensorDifference(expected['y'] ?? x, outputs['y'])).toBeUndefined();
  const { macs, macsPerShard } = plan.file.report;
  // Rows are those of pictures; tokens have none.
  if (axis === 'channels') expect(Math.max(...macsPerShard)).toBeLessThan(0.6 * macs);
});
