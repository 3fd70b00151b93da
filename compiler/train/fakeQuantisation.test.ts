import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { float32View, type Tensor } from '../../graph/tensor.ts';
import { tinyBatch, tinyClassifier, tinyPictures } from '../../tests/support/tinyClassifier.ts';
import { divideByChannels } from '../divide/divideChannels.ts';
import { exchangedValues } from './exchangedValues.ts';
import { followRange, wireTensors, withFakeQuantisation } from './fakeQuantisation.ts';
import { pictureBatch, pictureData } from './pictures.ts';
import { createRunner } from './runGraph.ts';
import { keepAt } from './thinning.ts';
import { createTrainer } from './trainer.ts';
import type { TrainerOptions } from './trainerTypes.ts';

const backend = await createHeapBackend();
const graph = tinyClassifier(3);
const pictures = tinyPictures(256, 1);
const exchanges = exchangedValues(graph, divideByChannels(graph, 2));
const input = pictureBatch(
  pictures,
  Array.from({ length: tinyBatch }, (_, i) => i),
);

test('levels reach from the least to the largest, and 0 is one of them', () => {
  const range = { low: Float32Array.of(-1, 0, 2), high: Float32Array.of(1, 2.55, 5) };
  const { scale, zero } = wireTensors(range);
  const scales = float32View(scale);
  expect([...zero.data]).toEqual([128, 0, 0]);
  expect(scales[0]).toBeCloseTo(2 / 255, 6);
  expect(scales[1]).toBeCloseTo(0.01, 6);
  expect(scales[2]).toBeCloseTo(5 / 255, 6);
  followRange(range, Float32Array.of(-3, 0, 0), Float32Array.of(1, 0, 0), false);
  expect(range.low[0]).toBeCloseTo(-1.6, 5);
});

test('contractions read rounded features; a shortcut beside them stays exact', async () => {
  const { graph: rounded, wires } = withFakeQuantisation(graph, exchanges);
  expect([...wires.keys()]).toEqual(['r1', 'r2', 'pooled']);
  const reads = (name: string) => rounded.nodes.find((node) => node.name === name)?.inputs;
  expect(reads('make s')).toContain('r1');
  expect(reads('make c2')).not.toContain('r1');
  expect(reads('make features')).not.toContain('pooled');
  const runner = await createRunner(backend, rounded);
  const plain = await createRunner(backend, graph);
  const exact = float32View((await plain.run(new Map([['pictures', input]]))).get('logits'));
  const errorWith = async (high: number): Promise<number> => {
    const feeds = new Map<string, Tensor>([['pictures', input]]);
    for (const { value, owners } of exchanges) {
      const range = {
        low: new Float32Array(owners.length),
        high: new Float32Array(owners.length).fill(high),
      };
      const names = wires.get(value);
      const { scale, zero } = wireTensors(range);
      feeds.set(names?.scale ?? '', scale).set(names?.zero ?? '', zero);
    }
    const got = float32View((await runner.run(feeds)).get('logits'));
    return got.reduce(
      (largest, value, i) => Math.max(largest, Math.abs(value - (exact[i] ?? Number.NaN))),
      0,
    );
  };
  const [fine, coarse] = [await errorWith(20), await errorWith(400)];
  await runner.release();
  await plain.release();
  expect(fine).toBeGreaterThan(0);
  expect(fine).toBeLessThan(0.2);
  expect(coarse).toBeGreaterThan(3 * fine);
});

function options(): TrainerOptions {
  const own = exchangedValues(graph, divideByChannels(graph, 2));
  const schedule = { from: 1, to: 0.25, start: 4, end: 12, every: 2 };
  return {
    backend,
    graph,
    data: pictureData(pictures),
    exchanges: own,
    thinning: { scope: 'uniform', keepAt: (step) => keepAt(schedule, step) },
    wire: 'uint8',
    objective: { type: 'classify', labelWeight: 1, smoothing: 0, teacherWeight: 0, temperature: 1 },
    optimiser: { type: 'sgd', momentum: 0.9, weightDecay: 0, clipNorm: 5 },
    rateAt: () => 0.05,
    statisticsMomentum: 0.1,
    seed: 2,
  };
}

test('a network learns through the rounding, and a checkpoint holds the ranges', async () => {
  const first = await createTrainer(options());
  const losses: number[] = [];
  for (let i = 0; i < 45; i++) losses.push((await first.trainStep()).loss);
  const mean = (list: readonly number[]) => list.reduce((sum, loss) => sum + loss, 0) / list.length;
  expect(mean(losses.slice(-8))).toBeLessThan(0.8 * mean(losses.slice(0, 8)));
  const checkpoint = first.save();
  const expected = (await first.trainStep()).loss;
  const second = await createTrainer(options());
  second.restore(checkpoint);
  expect((await second.trainStep()).loss).toBe(expected);
  await first.release();
  await second.release();
});

test('ranges are those of the exact network, from the first look on', async () => {
  const rounded = await createTrainer(options());
  const exact = await rounded.evaluate(pictureData(pictures), true);
  const before = await rounded.evaluate(pictureData(pictures));
  expect(before.accuracy).toBeCloseTo(exact.accuracy ?? Number.NaN, 1);
  const { loss, gradientNorm } = await rounded.trainStep();
  const { wire: _wire, ...plain } = options();
  const unrounded = await createTrainer(plain);
  const report = await unrounded.trainStep();
  // One small batch was seen: others reach a little beyond.
  for (const ratio of [loss / report.loss, gradientNorm / report.gradientNorm]) {
    expect(Math.abs(ratio - 1)).toBeLessThan(0.2);
  }
  await rounded.release();
  await unrounded.release();
});
