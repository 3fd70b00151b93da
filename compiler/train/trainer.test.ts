import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Graph } from '../../graph/graph.ts';
import { float32View, type Tensor } from '../../graph/tensor.ts';
import { wholeWeights } from '../../runtime/weights/blob.ts';
import { tinyBatch, tinyClassifier, tinyPictures } from '../../tests/support/tinyClassifier.ts';
import { divideByChannels } from '../divide/divideChannels.ts';
import { openLocalRoom } from '../measure/localRoom.ts';
import { exchangedValues, keptRatio, supportsOf } from './exchangedValues.ts';
import { finishTraining } from './finishTraining.ts';
import { insertBatchNorm } from './insertBatchNorm.ts';
import { type LogLine, runTraining } from './loop.ts';
import { pictureBatch, pictureData } from './pictures.ts';
import { createRunner, modelOf } from './runGraph.ts';
import { keepAt } from './thinning.ts';
import { createTrainer } from './trainer.ts';
import type { Trainer, TrainerOptions } from './trainerTypes.ts';

const backend = await createHeapBackend();
const pictures = tinyPictures(256, 1);
const unseen = tinyPictures(100, 2);
const graph = tinyClassifier(3);

const samples = (start: number): Tensor =>
  pictureBatch(
    pictures,
    Array.from({ length: tinyBatch }, (_, i) => start + i),
  );

async function logits(of: Graph, input: Tensor): Promise<Float32Array> {
  const runner = await createRunner(backend, of);
  const outputs = await runner.run(new Map([['pictures', input]]));
  await runner.release();
  return float32View(outputs.get('logits'));
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - (b[i] ?? Number.NaN))), 0);
}

const normalised = await insertBatchNorm(
  graph,
  backend,
  [0, 16, 32, 48].map((start) => new Map([['pictures', samples(start)]])),
);

const steps = 60;

async function accuracyOf(trainer: Trainer): Promise<number> {
  return (await trainer.evaluate(pictureData(unseen))).accuracy ?? Number.NaN;
}

function options(changes: Partial<TrainerOptions> = {}): TrainerOptions {
  return {
    backend,
    graph: normalised,
    data: pictureData(pictures),
    objective: { type: 'classify', labelWeight: 1, smoothing: 0.05, teacherWeight: 0, temperature: 1 },
    optimiser: { type: 'sgd', momentum: 0.9, weightDecay: 1e-4, clipNorm: 5 },
    rateAt: (step) =>
      Math.min(0.02 * (step + 1), 0.05 * (1 + Math.cos((Math.PI * (step - 5)) / (steps - 5)))),
    statisticsMomentum: 0.1,
    seed: 7,
    ...changes,
  };
}

test('the accuracy of the teacher is that of the same network evaluated, last partial batch included', async () => {
  const data = pictureData(unseen);
  const teacher = await createTrainer(options({ teacher: graph }));
  const same = await createTrainer(options({ graph }));
  expect(await teacher.teacherAccuracy(data)).toBe(await accuracyOf(same));
  expect(await same.teacherAccuracy(data)).toBeUndefined();
  await Promise.all([teacher.release(), same.release()]);
});

test('random weights begin at mean 0 and deviation 1, and that is another function', async () => {
  const begun = await insertBatchNorm(graph, backend, [new Map([['pictures', samples(0)]])], 'random');
  const of = (hint: string) =>
    [...begun.initializers]
      .filter(([name]) => name.endsWith(`/${hint}`))
      .map(([, tensor]) => float32View(tensor));
  expect(of('gamma').length).toBeGreaterThan(0);
  expect(of('gamma').every((gamma) => gamma.every((value) => value === 1))).toBe(true);
  expect(of('beta').every((beta) => beta.every((value) => value === 0))).toBe(true);
  const input = samples(0);
  expect(largestDifference(await logits(begun, input), await logits(graph, input))).toBeGreaterThan(0.01);
});

test('inserting batch normalisation changes nothing, and folding it takes it away again', async () => {
  const input = samples(100);
  const before = await logits(graph, input);
  expect(normalised.nodes.filter(({ opType }) => opType === 'BatchNormalization')).toHaveLength(3);
  expect(largestDifference(await logits(normalised, input), before)).toBeLessThan(1e-4);
  const folded = await finishTraining(modelOf(graph), normalised, { backend, shapes: {} });
  expect(folded.graph.nodes.map(({ name, opType }) => [name, opType])).toEqual(
    graph.nodes.map(({ name, opType }) => [name, opType]),
  );
  expect(largestDifference(await logits(folded.graph, input), before)).toBeLessThan(1e-4);
});

test('training from random weights learns to tell unseen pictures apart', async () => {
  const trainer = await createTrainer(options());
  const before = await accuracyOf(trainer);
  const lines: LogLine[] = [];
  const saved = new Map<string, Uint8Array>();
  const result = await runTraining(trainer, {
    steps,
    logEvery: 20,
    evaluateEvery: 30,
    saveEvery: 50,
    bestFrom: 0,
    evaluation: pictureData(unseen),
    log: (line) => void lines.push(line),
    save: async (which, bytes) => void saved.set(which, bytes),
    now: () => performance.now(),
  });
  const after = await accuracyOf(trainer);
  expect(before).toBeLessThan(0.6);
  expect(after).toBeGreaterThan(0.9);
  expect(result).toMatchObject({ step: steps, aborted: false });
  expect(result.best).toBeGreaterThanOrEqual(after);
  expect(lines.map(({ type, step }) => `${type} ${step}`)).toEqual([
    'train 20',
    'evaluation 30',
    'train 40',
    'train 60',
    'evaluation 60',
  ]);
  expect([...saved.keys()].sort()).toEqual(['best', 'latest']);

  // The folded model is the network as evaluated.
  const folded = await finishTraining(modelOf(graph), trainer.trainedGraph(), { backend, shapes: {} });
  const input = samples(0);
  expect(
    largestDifference(await logits(folded.graph, input), await logits(trainer.trainedGraph(), input)),
  ).toBeLessThan(1e-3);
  await trainer.release();
});

function thinned(changes: Partial<TrainerOptions> = {}) {
  const division = divideByChannels(graph, 2);
  const exchanges = exchangedValues(graph, division);
  const schedule = { from: 1, to: 0.25, start: 2, end: 12, every: 2 };
  const thinning = { scope: 'uniform', keepAt: (step: number) => keepAt(schedule, step) } as const;
  return { division, exchanges, options: options({ exchanges, thinning, ...changes }) };
}

test('a run that is interrupted goes on exactly where it was', async () => {
  const whole = await createTrainer(thinned().options);
  for (let i = 0; i < 14; i++) await whole.trainStep();
  const expected = whole.save();
  await whole.release();

  const first = await createTrainer(thinned().options);
  for (let i = 0; i < 7; i++) await first.trainStep();
  const checkpoint = first.save();
  await first.release();
  const second = await createTrainer(thinned().options);
  second.restore(checkpoint);
  for (let i = 7; i < 14; i++) await second.trainStep();
  expect(second.step).toBe(14);
  expect(Buffer.compare(second.save(), expected)).toBe(0);
  await second.release();

  const other = await createTrainer(options());
  expect(() => other.restore(checkpoint)).toThrow(/another model/);
  expect(() => other.restore(checkpoint.subarray(0, 1000))).toThrow(/cannot be read/);
  await other.release();
});

test('thinning reaches its target, and the thinned weights are the sparse division that shards run', async () => {
  const teacher = graph;
  const {
    division,
    exchanges,
    options: settings,
  } = thinned({
    teacher,
    objective: { type: 'classify', labelWeight: 0.5, smoothing: 0, teacherWeight: 0.5, temperature: 2 },
  });
  expect(exchanges.map(({ value }) => value)).toEqual(['r1', 'r2', 'pooled']);
  const trainer = await createTrainer(settings);
  let last = 1;
  for (let i = 0; i < 16; i++) {
    const { kept } = await trainer.trainStep();
    expect(kept.features).toBeLessThanOrEqual(last);
    last = kept.features;
  }
  expect(keptRatio(exchanges).features).toBeCloseTo(0.25, 5);
  const folded = await finishTraining(modelOf(graph), trainer.trainedGraph(), { backend, shapes: {} });
  await trainer.release();
  const concrete: Graph = {
    ...folded.graph,
    inputs: graph.inputs,
    outputs: graph.outputs,
    values: graph.values,
  };
  const input = samples(50);
  const expected = await logits(concrete, input);

  const model = modelOf(concrete);
  const room = await openLocalRoom({
    backend,
    placement: [[0], [1]],
    planOf: () => ({
      model,
      division: { ...division, supports: supportsOf(exchanges) },
      openBatch: false,
      weights: wholeWeights(model),
    }),
  });
  const { outputs } = await room.run({ pictures: input });
  const got = outputs['logits'];
  if (got === undefined) throw new Error('The room gave no logits.');
  expect(largestDifference(float32View(got), expected)).toBeLessThan(1e-4);
  await room.close();
});
