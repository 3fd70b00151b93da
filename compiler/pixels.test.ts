/** Pixels in and out compute what the model computes of the numbers that the pixels stand for. */
import { expect, test } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import type { Model } from '../graph/graph.ts';
import { saveModel } from '../graph/save.ts';
import { float32Tensor, float32View, type Tensor } from '../graph/tensor.ts';
import { runWhole } from './measure/verify.ts';
import { pixelEnds } from './pixels.ts';

const shape = [1, 3, 2, 4];
const info = (name: string) => ({ name, dataType: 'float32' as const, shape });

/** y = 2 x. */
const model: Model = {
  irVersion: 8,
  opsets: new Map([['', 17]]),
  producer: 'test',
  metadata: new Map(),
  graph: {
    name: 'double',
    inputs: [info('x')],
    outputs: [info('y')],
    nodes: [
      { name: 'n', opType: 'Mul', domain: '', inputs: ['x', 'two'], outputs: ['y'], attributes: new Map() },
    ],
    initializers: new Map([['two', float32Tensor([], [2])]]),
    values: new Map(),
  },
};

const pixels: Tensor = {
  dataType: 'uint8',
  dims: shape,
  data: Uint8Array.from({ length: 24 }, (_, i) => (i * 37) % 256),
};

async function run(changed: Model): Promise<Tensor | undefined> {
  const backend = await createHeapBackend();
  const session = await backend.createSession(saveModel(changed).bytes);
  return (await runWhole(session, backend, { x: pixels }))['y'];
}

test('a pixel is scaled, centred and normalised as floats would be, bit for bit', async () => {
  const mean = [0.485, 0.456, 0.406];
  const std = [0.229, 0.224, 0.225];
  const output = await run(pixelEnds(model, { input: { scale: 255, mean, std } }));
  const f = Math.fround;
  const expected = Array.from(pixels.data, (pixel, i) => {
    const channel = Math.floor(i / 8);
    const centred = f(f(f(pixel) / f(255)) - f(mean[channel] ?? 0));
    return f(2 * f(centred / f(std[channel] ?? 1)));
  });
  expect(output === undefined ? [] : [...float32View(output)]).toEqual(expected);
});

test('results are rounded and clamped to pixels', async () => {
  const output = await run(pixelEnds(model, { input: { scale: 255 }, output: { scale: 255 } }));
  expect(output?.dataType).toBe('uint8');
  expect([...(output?.data ?? [])]).toEqual(Array.from(pixels.data, (pixel) => Math.min(255, 2 * pixel)));
});

test('a model without a picture is refused', () => {
  const flat = { ...info('x'), shape: [1, 10] };
  const vector: Model = { ...model, graph: { ...model.graph, inputs: [flat] } };
  expect(() => pixelEnds(vector, { input: { scale: 255 } })).toThrow(/float32 input/);
});

test('scores become the class with the greatest one, at each place', async () => {
  const output = await run(pixelEnds(model, { input: { scale: 255 }, output: { classes: true } }));
  expect(output?.dims).toEqual([1, 1, 2, 4]);
  const scores = (place: number) => [0, 1, 2].map((channel) => pixels.data[channel * 8 + place] ?? 0);
  const best = Array.from({ length: 8 }, (_, place) => scores(place).indexOf(Math.max(...scores(place))));
  expect([...(output?.data ?? [])]).toEqual(best);
});
