import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Graph } from '../../graph/graph.ts';
import { normal, seededRandom } from '../../graph/random.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import { differentiate } from './autodiff/differentiate.ts';
import { appendLoss, type LossTerm } from './losses.ts';
import { createRunner } from './runGraph.ts';

const backend = await createHeapBackend();
const [rows, classes] = [3, 4];

const identity: Graph = {
  name: 'g',
  inputs: [{ name: 'x', dataType: 'float32', shape: [rows, classes] }],
  outputs: [{ name: 'y', dataType: 'float32', shape: [rows, classes] }],
  nodes: [
    { name: 'n', opType: 'Identity', domain: '', inputs: ['x'], outputs: ['y'], attributes: new Map() },
  ],
  initializers: new Map(),
  values: new Map(),
};

const random = seededRandom(5);
const logits = Array.from({ length: rows * classes }, () => normal(random));
const targets = Array.from({ length: rows * classes }, () => normal(random));
const labels = Array.from({ length: rows * classes }, (_, i) => (i % classes === (i * 7) % 3 ? 1 : 0));

function softmax(values: readonly number[], temperature: number): number[] {
  return Array.from({ length: rows }, (_, row) => values.slice(row * classes, (row + 1) * classes)).flatMap(
    (list) => {
      const powers = list.map((value) => Math.exp(value / temperature));
      const sum = powers.reduce((a, b) => a + b, 0);
      return powers.map((power) => power / sum);
    },
  );
}

const total = (term: (i: number) => number): number => logits.reduce((sum, _, i) => sum + term(i), 0);

const cases: readonly {
  readonly term: LossTerm;
  readonly target: readonly number[];
  readonly expected: (x: readonly number[]) => number;
}[] = [
  {
    term: { type: 'cross-entropy', output: 'y', target: 't', weight: 0.5, smoothing: 0.2 },
    target: labels,
    expected: (x) => {
      const p = softmax(x, 1);
      return (0.5 * total((i) => -(0.8 * (labels[i] ?? 0) + 0.05) * Math.log(p[i] ?? 1))) / rows;
    },
  },
  {
    term: { type: 'distillation', output: 'y', target: 't', weight: 2, temperature: 3 },
    target: targets,
    expected: (x) => {
      const [p, q] = [softmax(targets, 3), softmax(x, 3)];
      return (2 * 9 * total((i) => (p[i] ?? 0) * Math.log((p[i] ?? 1) / (q[i] ?? 1)))) / rows;
    },
  },
  {
    term: { type: 'squared', output: 'y', target: 't', weight: 1 },
    target: targets,
    expected: (x) => total((i) => ((x[i] ?? 0) - (targets[i] ?? 0)) ** 2) / (rows * classes),
  },
  {
    term: { type: 'absolute', output: 'y', target: 't', weight: 1 },
    target: targets,
    expected: (x) => total((i) => Math.abs((x[i] ?? 0) - (targets[i] ?? 0))) / (rows * classes),
  },
];

test.each(cases)(
  '$term.type: value and gradient are those of its formula',
  async ({ term, target, expected }) => {
    const { graph, loss } = appendLoss(identity, [term]);
    const { graph: full, gradients } = differentiate(graph, loss, ['x']);
    const runner = await createRunner(backend, full);
    const outputs = await runner.run(
      new Map([
        ['x', float32Tensor([rows, classes], logits)],
        ['t', float32Tensor([rows, classes], target)],
      ]),
    );
    expect(float32View(outputs.get(loss))[0]).toBeCloseTo(expected(logits), 5);
    const gradient = float32View(outputs.get(gradients.get('x') ?? ''));
    for (const [i] of logits.entries()) {
      const moved = (step: number): number => expected(logits.map((x, at) => (at === i ? x + step : x)));
      expect(gradient[i]).toBeCloseTo((moved(1e-4) - moved(-1e-4)) / 2e-4, 4);
    }
    await runner.release();
  },
);

test('boxes: confidences count everywhere, the rest where the target is confident', async () => {
  const shape = [2, 1, 7];
  const ends = (name: string) => [{ name, dataType: 'float32' as const, shape }];
  const places: Graph = { ...identity, inputs: ends('x'), outputs: ends('y') };
  const { graph, loss } = appendLoss(places, [{ type: 'boxes', output: 'y', target: 't', weight: 1 }]);
  const { graph: full, gradients } = differentiate(graph, loss, ['x']);
  const runner = await createRunner(backend, full);
  // Boxes of 4, confidence, two scores; the second place holds nothing.
  const x = [1, 2, 3, 4, 0.6, 0.5, 0.1, 9, 9, 9, 9, 0.3, 1, 1];
  const t = [1, 1, 3, 2, 0.8, 0.7, 0.1, 0, 0, 0, 0, 0, 0, 0];
  const outputs = await runner.run(
    new Map([
      ['x', float32Tensor(shape, x)],
      ['t', float32Tensor(shape, t)],
    ]),
  );
  const expected = (0.04 + 0.8 * (1 + 2 + 0.04) + 0.09) / 2;
  expect(float32View(outputs.get(loss))[0]).toBeCloseTo(expected, 5);
  const gradient = float32View(outputs.get(gradients.get('x') ?? ''));
  expect([...gradient.slice(7, 11), ...gradient.slice(12)].every((slope) => slope === 0)).toBe(true);
  expect(gradient[11]).toBeCloseTo(0.3, 5);
  expect(gradient[3]).toBeCloseTo(0.4, 5);
  await runner.release();
});
