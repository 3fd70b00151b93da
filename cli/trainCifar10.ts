/** A whole training run of a CIFAR-10 classifier in a folder: prepare, resume, train, fold, measure, write. */
import { createHeapBackend } from '../backends/ortHeap.ts';
import { divideByChannels } from '../compiler/divide/divideChannels.ts';
import { normaliseModel } from '../compiler/normalise/normaliseModel.ts';
import { exchangedValues, keptRatio, supportsOf } from '../compiler/train/exchangedValues.ts';
import { finishTraining } from '../compiler/train/finishTraining.ts';
import { insertBatchNorm } from '../compiler/train/insertBatchNorm.ts';
import { type LogLine, runTraining } from '../compiler/train/loop.ts';
import { type Pictures, pictureBatch } from '../compiler/train/pictures.ts';
import { modelOf } from '../compiler/train/runGraph.ts';
import type { ThinningScope } from '../compiler/train/thinning.ts';
import { createTrainer } from '../compiler/train/trainer.ts';
import { cifar10Classes, type LabelledImages, loadCifar10 } from '../eval/cifar10.ts';
import type { Model } from '../graph/graph.ts';
import { seededRandom } from '../graph/random.ts';
import { saveModel } from '../graph/save.ts';
import type { Backend } from '../runtime/backend.ts';
import { writeBytes } from './files.ts';
import type { LoggedLine, TrainingFolder } from './trainingFolder.ts';

export interface Cifar10Run {
  readonly steps: number;
  readonly batch: number;
  readonly numShards: number;
  readonly keep: number;
  readonly scope: ThinningScope;
  readonly rate: number;
  readonly labelWeight: number;
  readonly temperature: number;
  readonly weightDecay: number;
  readonly seed: number;
}

export interface Cifar10Report {
  readonly step: number;
  readonly aborted: boolean;
  /** On the 10,000 test pictures, of the best weights; the model that training began with beside it. */
  readonly accuracy: number;
  readonly denseAccuracy: number;
  readonly keptFeatures: number;
  readonly keptElements: number;
  readonly seconds: number;
}

/** The last pictures of the training split choose the best weights and are not trained on. */
const heldOut = 2000;
/** Shares of all steps. */
const thinning = { start: 0.05, end: 0.5, times: 60 };
const warmUp = 0.05;
/** Batches that measure the deviations for batch normalisation. */
const statisticsBatches = 16;

export async function trainCifar10(
  model: Model,
  run: Cifar10Run,
  backend: Backend,
  folder: TrainingFolder,
  hooks: { readonly signal: AbortSignal; onLine(line: LogLine): void },
): Promise<Cifar10Report> {
  const begin = performance.now();
  const [input] = model.graph.inputs;
  const normalised = await normaliseModel(model, {
    backend: await createHeapBackend(),
    shapes: { [input?.name ?? '']: [run.batch, 3, 32, 32] },
  });
  const { graph } = normalised;
  const train = picturesOf(await loadCifar10('train'));
  const test = picturesOf(await loadCifar10('test'));
  const seen = part(train, 0, train.count - heldOut);
  const exchanges = exchangedValues(graph, divideByChannels(graph, run.numShards));
  const share = (fraction: number): number => Math.round(fraction * run.steps);
  const thinningSteps = { start: share(thinning.start), end: share(thinning.end) };
  const trainer = await createTrainer({
    backend,
    graph: await insertBatchNorm(graph, backend, sampleBatches(seen, run, input?.name ?? '')),
    teacher: graph,
    pictures: seen,
    exchanges,
    thinning: {
      ...thinningSteps,
      target: run.keep,
      scope: run.scope,
      every: Math.max(1, share(1 / thinning.times)),
    },
    loss: {
      labelWeight: run.labelWeight,
      smoothing: 0,
      teacherWeight: 1 - run.labelWeight,
      temperature: run.temperature,
    },
    optimiser: { momentum: 0.9, weightDecay: run.weightDecay, clipNorm: 5 },
    rate: { type: 'cosine', peak: run.rate, warmUpSteps: share(warmUp), steps: run.steps },
    statisticsMomentum: 0.05,
    seed: run.seed,
  });
  const denseAccuracy = await trainer.evaluate(test);
  const latest = await folder.checkpoint('latest');
  if (latest !== undefined) trainer.restore(latest);
  const earlier = await folder.rewindLog(trainer.step);
  const result = await runTraining(
    trainer,
    {
      steps: run.steps,
      logEvery: 20,
      evaluateEvery: 200,
      saveEvery: 100,
      bestFrom: thinningSteps.end + 1,
      evaluation: part(train, seen.count, heldOut),
      log: async (line) => {
        hooks.onLine(line);
        await folder.log(line);
      },
      save: folder.save,
      now: () => performance.now(),
      signal: hooks.signal,
    },
    bestOf(earlier, thinningSteps.end + 1),
  );
  const best = await folder.checkpoint('best');
  if (best !== undefined) trainer.restore(best);
  const accuracy = await trainer.evaluate(test);
  const finished = await finishTraining(
    { ...modelOf(graph), ...normalised.model, graph },
    trainer.trainedGraph(),
    { backend, shapes: {} },
  );
  await trainer.release();
  const kept = keptRatio(exchanges);
  await writeBytes(folder.path('model.onnx'), saveModel(finished).bytes);
  const supports = { numShards: run.numShards, supports: Object.fromEntries(supportsOf(exchanges)) };
  await writeBytes(folder.path('supports.json'), `${JSON.stringify(supports)}\n`);
  const report: Cifar10Report = {
    step: result.step,
    aborted: result.aborted,
    accuracy,
    denseAccuracy,
    keptFeatures: kept.features,
    keptElements: kept.elements,
    seconds: Math.round((performance.now() - begin) / 1000),
  };
  await writeBytes(
    folder.path('report.json'),
    `${JSON.stringify({ date: new Date().toISOString(), settings: run, ...report }, null, 2)}\n`,
  );
  return report;
}

function picturesOf(data: LabelledImages): Pictures {
  return {
    ...data,
    size: 32,
    numClasses: cifar10Classes.length,
    mean: [0.485, 0.456, 0.406],
    deviation: [0.229, 0.224, 0.225],
  };
}

function part(pictures: Pictures, start: number, count: number): Pictures {
  const { images, labels } = pictures;
  const bytes = images.length / pictures.count;
  return {
    ...pictures,
    count,
    images: images.subarray(start * bytes, (start + count) * bytes),
    labels: labels.subarray(start, start + count),
  };
}

function sampleBatches(pictures: Pictures, { batch, seed }: Cifar10Run, input: string) {
  const random = seededRandom(seed);
  return Array.from({ length: statisticsBatches }, () => {
    const indices = Array.from({ length: batch }, () => Math.floor(random() * pictures.count));
    return new Map([[input, pictureBatch(pictures, indices, random)]]);
  });
}

function bestOf(lines: readonly LoggedLine[], from: number): number | undefined {
  const values = lines.flatMap((line) =>
    line.type === 'evaluation' && line.step >= from ? [line.accuracy] : [],
  );
  return values.length === 0 ? undefined : Math.max(...values);
}
