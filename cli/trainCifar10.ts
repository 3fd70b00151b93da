/** A whole training run of a CIFAR-10 classifier in a folder: prepare, resume, train, fold, measure, write. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { analyse } from '../compiler/analyse.ts';
import type { Calibration } from '../compiler/calibrate/calibration.ts';
import { divideByChannels } from '../compiler/divide/divideChannels.ts';
import { normaliseModel } from '../compiler/normalise/normaliseModel.ts';
import { courseKeep, courseOf, courseRate } from '../compiler/train/course.ts';
import { exchangedValues, keptRatio, supportsOf } from '../compiler/train/exchangedValues.ts';
import { finishTraining } from '../compiler/train/finishTraining.ts';
import { insertBatchNorm } from '../compiler/train/insertBatchNorm.ts';
import type { LogLine } from '../compiler/train/loop.ts';
import { type Pictures, pictureBatch } from '../compiler/train/pictures.ts';
import { runCourse } from '../compiler/train/runCourse.ts';
import { modelOf } from '../compiler/train/runGraph.ts';
import type { ThinningScope } from '../compiler/train/thinning.ts';
import { createTrainer } from '../compiler/train/trainer.ts';
import { cifar10Classes, type LabelledImages, loadCifar10 } from '../eval/cifar10.ts';
import type { Model } from '../graph/graph.ts';
import { seededRandom } from '../graph/random.ts';
import { saveModel } from '../graph/save.ts';
import type { Backend } from '../runtime/backend.ts';
import type { Division } from '../runtime/lower/program.ts';
import { readDivision, writeDivision } from './divisionFile.ts';
import { readJson, writeBytes } from './files.ts';
import type { LoggedLine, TrainingFolder } from './trainingFolder.ts';

export interface Cifar10Run {
  /** Of the whole course. */
  readonly steps: number;
  readonly batch: number;
  readonly numShards: number;
  /** The kept ratio that matters most. */
  readonly keep: number;
  /** Further kept ratios of the curve. */
  readonly levels: readonly number[];
  readonly scope: ThinningScope;
  /** Owners as they come, or chosen so that little energy crosses. */
  readonly owners: 'contiguous' | 'assigned';
  readonly rate: number;
  readonly labelWeight: number;
  readonly temperature: number;
  readonly weightDecay: number;
  readonly seed: number;
}

export interface LevelResult {
  readonly keep: number;
  readonly keptFeatures: number;
  readonly keptElements: number;
  /** On the 10,000 test pictures. */
  readonly accuracy: number;
  /** Steps of the course when it was settled, and seconds of training until then. */
  readonly step: number;
  readonly seconds: number;
}

export interface Cifar10Report {
  readonly step: number;
  readonly aborted: boolean;
  /** Of the model that training began with, on the same pictures. */
  readonly denseAccuracy: number;
  readonly curve: readonly LevelResult[];
}

/** The last pictures of the training split choose the best weights and are not trained on. */
const heldOut = 2000;
/** Batches that measure the deviations for batch normalisation. */
const statisticsBatches = 16;
/** Pictures that owners are assigned by. */
const assignmentPictures = 2000;

export async function trainCifar10(
  model: Model,
  run: Cifar10Run,
  backend: Backend,
  folder: TrainingFolder,
  hooks: { readonly signal: AbortSignal; onLine(line: LogLine): void },
): Promise<Cifar10Report> {
  const [input] = model.graph.inputs;
  const normalised = await normaliseModel(model, {
    backend: await createHeapBackend(),
    shapes: { [input?.name ?? '']: [run.batch, 3, 32, 32] },
  });
  const { graph } = normalised;
  const train = picturesOf(await loadCifar10('train'));
  const test = picturesOf(await loadCifar10('test'));
  const seen = part(train, 0, train.count - heldOut);
  const division = await divide(normalised.model, run, folder, backend, seen);
  const exchanges = exchangedValues(graph, division);
  const course = courseOf({ levels: run.levels, target: run.keep, steps: run.steps });
  const trainer = await createTrainer({
    backend,
    graph: await insertBatchNorm(graph, backend, sampleBatches(seen, run, input?.name ?? '')),
    teacher: graph,
    pictures: seen,
    exchanges,
    thinning: { scope: run.scope, keepAt: (step) => courseKeep(course, step) },
    loss: {
      labelWeight: run.labelWeight,
      smoothing: 0,
      teacherWeight: 1 - run.labelWeight,
      temperature: run.temperature,
    },
    optimiser: { momentum: 0.9, weightDecay: run.weightDecay, clipNorm: 5 },
    rateAt: (step) => courseRate(course, run.rate, step),
    statisticsMomentum: 0.1,
    seed: run.seed,
  });
  const denseAccuracy = await trainer.evaluate(test);
  const latest = await folder.checkpoint('latest');
  if (latest !== undefined) trainer.restore(latest);
  const lines = await folder.rewindLog(trainer.step);
  const curve = await readCurve(folder.path('curve.json'));
  const trainSeconds = secondsOf(lines);
  const aborted = await runCourse(trainer, {
    course,
    logEvery: 20,
    evaluateEvery: 200,
    saveEvery: 50,
    evaluation: part(train, seen.count, heldOut),
    log: async (line) => {
      hooks.onLine(line);
      trainSeconds.add(line);
      await folder.log(line);
    },
    save: folder.save,
    load: folder.checkpoint,
    bestBetween: (start, end) => bestOf(lines, start, end),
    now: () => performance.now(),
    signal: hooks.signal,
    settled: async (segment) => {
      const kept = keptRatio(exchanges);
      const result: LevelResult = {
        keep: segment.keep,
        keptFeatures: kept.features,
        keptElements: kept.elements,
        accuracy: await trainer.evaluate(test),
        step: segment.start + segment.steps,
        seconds: trainSeconds.total(),
      };
      const finished = await finishTraining(
        { ...modelOf(graph), ...normalised.model, graph },
        trainer.trainedGraph(),
        { backend, shapes: {} },
      );
      const level = (file: string): string => folder.path(join(`kept-${segment.keep}`, file));
      await writeBytes(level('model.onnx'), saveModel(finished).bytes);
      await writeDivision(level('division.json'), { ...division, supports: supportsOf(exchanges) });
      curve.set(segment.keep, result);
      await writeBytes(folder.path('curve.json'), `${JSON.stringify([...curve.values()], null, 2)}\n`);
    },
  });
  await trainer.release();
  return { step: trainer.step, aborted, denseAccuracy, curve: [...curve.values()] };
}

/** Made once and kept in the folder, so that a resumed run divides alike. */
async function divide(
  model: Model,
  run: Cifar10Run,
  folder: TrainingFolder,
  backend: Backend,
  pictures: Pictures,
): Promise<Division> {
  const path = folder.path('division.json');
  if (existsSync(path)) return readDivision(path);
  const division =
    run.owners === 'contiguous'
      ? divideByChannels(model.graph, run.numShards)
      : (
          await analyse(model, {
            numShards: run.numShards,
            calibration: calibrationOf(pictures, run, model),
            backend,
          })
        ).division;
  await writeDivision(path, division);
  return division;
}

function calibrationOf(pictures: Pictures, { batch }: Cifar10Run, model: Model): Calibration {
  const input = model.graph.inputs[0]?.name ?? '';
  const batches = Math.ceil(assignmentPictures / batch);
  return {
    samples: batches * batch,
    *batches() {
      for (let i = 0; i < batches; i++) {
        const indices = Array.from({ length: batch }, (_, at) => i * batch + at);
        yield { [input]: pictureBatch(pictures, indices) };
      }
    },
  };
}

const curveSchema = v.array(
  v.object({
    keep: v.number(),
    keptFeatures: v.number(),
    keptElements: v.number(),
    accuracy: v.number(),
    step: v.number(),
    seconds: v.number(),
  }),
);

async function readCurve(path: string): Promise<Map<number, LevelResult>> {
  if (!existsSync(path)) return new Map();
  return new Map(v.parse(curveSchema, await readJson(path)).map((level) => [level.keep, level]));
}

/** Seconds of steps, from the lines of the log. */
function secondsOf(lines: readonly LoggedLine[]) {
  let [seconds, last] = [0, 0];
  const add = (line: LoggedLine): void => {
    if (line.type !== 'train') return;
    seconds += (line.secondsPerStep ?? 0) * (line.step - last);
    last = line.step;
  };
  for (const line of lines) add(line);
  return { add, total: () => Math.round(seconds) };
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

function bestOf(lines: readonly LoggedLine[], start: number, end: number): number | undefined {
  const values = lines.flatMap((line) =>
    line.type === 'evaluation' && line.step >= start && line.step <= end ? [line.accuracy] : [],
  );
  return values.length === 0 ? undefined : Math.max(...values);
}
