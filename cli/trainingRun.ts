/** A whole training run in a folder: prepare, resume, walk the course, and write what every level gives. */

import {
  type CourseRate,
  courseKeep,
  courseOf,
  courseRate,
  type Segment,
  segmentAt,
} from '../compiler/train/course.ts';
import { exchangedValues, keptRatio, readSupports, supportsOf } from '../compiler/train/exchangedValues.ts';
import { insertBatchNorm, type WeightStart } from '../compiler/train/insertBatchNorm.ts';
import { type LogLine, worthOf } from '../compiler/train/loop.ts';
import type { Objective } from '../compiler/train/objective.ts';
import type { OptimiserOptions } from '../compiler/train/optimiser.ts';
import { runCourse } from '../compiler/train/runCourse.ts';
import type { ThinningScope } from '../compiler/train/thinning.ts';
import { createTrainer } from '../compiler/train/trainer.ts';
import type { EvaluationResult, Trainer } from '../compiler/train/trainerTypes.ts';
import type { TrainingData } from '../compiler/train/trainingData.ts';
import type { Graph, Model } from '../graph/graph.ts';
import { seededRandom } from '../graph/random.ts';
import type { Tensor } from '../graph/tensor.ts';
import type { Backend } from '../runtime/backend.ts';
import { lower } from '../runtime/lower/lower.ts';
import { oneShardEach } from '../runtime/lower/placements.ts';
import type { Division } from '../runtime/lower/program.ts';
import { divideForTraining } from './divideForTraining.ts';
import { normaliseForTraining } from './normaliseForTraining.ts';
import type { Trainable } from './trainable.ts';
import { type LevelResult, openCurve } from './trainingCurve.ts';
import type { LoggedLine, TrainingFolder } from './trainingFolder.ts';
import { writeLevel } from './trainingLevel.ts';
import type { TrainingSource } from './trainingSource.ts';

export interface TrainingRun {
  readonly name: string;
  readonly objective: Objective;
  /** Of the whole course. */
  readonly steps: number;
  readonly batch: number;
  /** Height and width of a sample. */
  readonly size: readonly [number, number];
  readonly numShards: number;
  /** The kept ratio that matters most; 1 thins nothing. */
  readonly keep: number;
  /** Further kept ratios of the curve. */
  readonly levels: readonly number[];
  readonly scope: ThinningScope;
  /** Owners as they come, or chosen so that little energy crosses. */
  readonly owners: 'contiguous' | 'assigned';
  readonly wire: 'float32' | 'uint8';
  readonly optimiser: 'sgd' | 'adamw';
  /** Along the trunk; it falls to nothing along every branch. */
  readonly rate: number;
  readonly fall: CourseRate['fall'];
  readonly weightDecay: number;
  readonly clipNorm: number;
  readonly seed: number;
  /** Where it is not given, trained. */
  readonly start?: WeightStart;
}

export interface TrainingReport {
  readonly step: number;
  readonly aborted: boolean;
  /** Of the model that training began with, on the test part where there is one. */
  readonly dense: EvaluationResult;
  readonly curve: readonly LevelResult[];
}

/** Batches that measure the deviations for batch normalisation. */
const statisticsBatches = 16;
/** Samples that such a batch holds in all, at most. */
const statisticsSamples = 2048;

export interface TrainingHooks {
  readonly signal: AbortSignal;
  onLine(line: LogLine): void;
}

/** Throws INPUT_INVALID, MODEL_UNSUPPORTED, or what training throws. */
export async function runTrainingFolder(
  { model, division: given }: Trainable,
  teacher: Model | undefined,
  run: TrainingRun,
  source: TrainingSource,
  backend: Backend,
  folder: TrainingFolder,
  hooks: TrainingHooks,
): Promise<TrainingReport> {
  const normalised = await normaliseForTraining(model, run);
  const { graph } = normalised;
  const taught = teacher === undefined ? graph : (await normaliseForTraining(teacher, run)).graph;
  const division = await divideForTraining(normalised, given, run, folder, backend, source.train);
  const exchanges = exchangedValues(graph, division);
  readSupports(exchanges, division.supports ?? new Map());
  const course = courseOf({ levels: run.levels, target: run.keep, steps: run.steps });
  // Elsewhere batches are small, and their statistics would move what must be met exactly: pictures, boxes, maps.
  const normalises = run.objective.type === 'classify';
  const trainer = await createTrainer({
    backend,
    graph: normalises
      ? await insertBatchNorm(graph, backend, await sampleBatches(source.train, graph, run), run.start)
      : graph,
    teacher: taught,
    data: source.train,
    exchanges,
    thinning: { scope: run.scope, keepAt: (step) => courseKeep(course, step) },
    wire: run.wire,
    objective: run.objective,
    optimiser: optimiserOf(run),
    rateAt: (step) => courseRate(course, { peak: run.rate, fall: run.fall }, step),
    statisticsMomentum: 0.1,
    seed: run.seed,
  });
  const judged = source.test ?? source.held;
  const curve = await openCurve(folder.path('curve.json'));
  const dense = await curve.dense(denseBytes(graph, division, run.batch), () =>
    trainer.evaluate(judged, true),
  );
  if (given !== undefined && teacher !== undefined) {
    await curve.teacher(() => trainer.teacherAccuracy(judged));
  }
  const latest = await folder.checkpoint('latest');
  if (latest !== undefined) trainer.restore(latest);
  const lines = await folder.rewindLog(trainer.step);
  const time = secondsOf(lines);
  const logged: LogLine[] = [];
  const write = (level: string) =>
    writeLevel(folder.path(level), {
      declared: model.graph,
      original: normalised,
      trained: trainer.trainedGraph(),
      division: { ...division, supports: supportsOf(exchanges) },
      run,
      backend,
      samples: source.train,
    });
  const aborted = await runCourse(trainer, {
    course,
    logEvery: 20,
    evaluateEvery: 200,
    saveEvery: 50,
    evaluation: source.held,
    log: async (line) => {
      hooks.onLine(line);
      time.add(line);
      logged.push(line);
      await folder.log(line);
    },
    save: folder.save,
    load: folder.checkpoint,
    bestBetween: (start, end) => bestOf(lines, start, end),
    now: () => performance.now(),
    signal: hooks.signal,
    settled: async (segment) => {
      const kept = keptRatio(exchanges);
      const result = await trainer.evaluate(judged);
      const traffic = await write(`kept-${segment.keep}`);
      await curve.add({
        keep: segment.keep,
        keptFeatures: kept.features,
        keptElements: kept.elements,
        ...result,
        ...traffic,
        step: segment.start + segment.steps,
        seconds: time.total(),
      });
    },
  });
  const { step } = trainer;
  if (aborted) {
    await restoreBest(trainer, folder, segmentAt(course, step), [...lines, ...logged]);
    await write(stoppedLevel);
  }
  await trainer.release();
  return { step, aborted, dense, curve: curve.levels() };
}

/** What one sample's features take between shards on a device each, when every shard reads what it wants. */
function denseBytes(graph: Graph, { numShards, shardings }: Division, batch: number): number {
  const room = lower(graph, { numShards, shardings }, oneShardEach(numShards));
  return Math.round(room.exchangedBytes / batch);
}

/** Folder of the best that a run had when it was stopped. */
export const stoppedLevel = 'stopped';

/** In a branch that has been evaluated, its best network so far; else the network as it stands. */
async function restoreBest(
  trainer: Trainer,
  folder: TrainingFolder,
  segment: Segment | undefined,
  lines: readonly (LoggedLine | LogLine)[],
): Promise<void> {
  const evaluated = lines.some(
    ({ type, step }) => type === 'evaluation' && segment?.kind === 'branch' && step > segment.start,
  );
  const best = evaluated ? await folder.checkpoint('best') : undefined;
  if (best !== undefined) trainer.restore(best);
}

function optimiserOf({ optimiser, weightDecay, clipNorm }: TrainingRun): OptimiserOptions {
  const common = { weightDecay, clipNorm };
  return optimiser === 'sgd' ? { ...common, type: 'sgd', momentum: 0.9 } : { ...common, type: 'adamw' };
}

async function sampleBatches(data: TrainingData, graph: Graph, { batch, seed }: TrainingRun) {
  const random = seededRandom(seed);
  const batches: ReadonlyMap<string, Tensor>[] = [];
  for (let i = 0; i < statisticsBatches && i * batch < statisticsSamples; i++) {
    const indices = Array.from({ length: batch }, () => Math.floor(random() * data.count));
    batches.push(new Map([[graph.inputs[0]?.name ?? '', await data.batch(indices, random)]]));
  }
  return batches;
}

/** Seconds of steps, from the lines of the log. */
function secondsOf(lines: readonly LoggedLine[]) {
  let [seconds, last] = [0, 0];
  const add = (line: LoggedLine | LogLine): void => {
    if (line.type !== 'train' || typeof line.secondsPerStep !== 'number') return;
    seconds += line.secondsPerStep * (line.step - last);
    last = line.step;
  };
  for (const line of lines) add(line);
  return { add, total: () => Math.round(seconds) };
}

function bestOf(lines: readonly LoggedLine[], start: number, end: number): number | undefined {
  const values = lines.flatMap(({ type, step, accuracy, loss }) =>
    type === 'evaluation' && step >= start && step <= end ? [worthOf({ accuracy, loss })] : [],
  );
  return values.length === 0 ? undefined : Math.max(...values);
}
