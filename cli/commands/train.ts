/** `starling train`: a model whose shards exchange only some features, trained from the dense model. */
import type { LogLine } from '../../compiler/train/loop.ts';
import type { Objective } from '../../compiler/train/objective.ts';
import type { EvaluationResult } from '../../compiler/train/trainerTypes.ts';
import type { TrainingData } from '../../compiler/train/trainingData.ts';
import { preparations } from '../../eval/preparations.ts';
import type { Model } from '../../graph/graph.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { sha256Hex } from '../../protocol/sha256.ts';
import { assertTrainingRun } from '../assertTrainingRun.ts';
import { chooseBackend } from '../backendOption.ts';
import { writeTrainingChart } from '../charts/writeTrainingChart.ts';
import { type Command, parseArguments, required } from '../command.ts';
import { readBytes } from '../files.ts';
import { readModelFile } from '../modelFile.ts';
import { createProgress } from '../progress.ts';
import { readTrainable, type Trainable, withSidesOf } from '../trainable.ts';
import { openTrainingFolder, type TrainingSettings } from '../trainingFolder.ts';
import { runTrainingFolder, stoppedLevel, type TrainingReport, type TrainingRun } from '../trainingRun.ts';
import { openTrainingSource, withoutLabels } from '../trainingSource.ts';
import { parseTrain, type TrainChoices, trainArguments, trainHelp } from '../trainOptions.ts';

export const train: Command = {
  name: 'train',
  summary: 'Thin the exchange of a divided model step by step while its weights adapt.',
  usage: 'MODEL|PLAN --data cifar10|FOLDER --out DIR [OPTION]...',
  options: trainHelp,
  async run(args, terminal) {
    const { values, positionals } = parseArguments(args, trainArguments, ['MODEL']);
    const data = required(values.data, '--data');
    const out = required(values.out, '--out');
    const choices = parseTrain(values);
    const [path = ''] = positionals;
    const read = await readTrainable(path);
    const teacher = values.teacher === undefined ? undefined : await readModelFile(values.teacher);
    const size = sizeOf(read.model, choices);
    const trainable = teacher === undefined ? read : withSidesOf(teacher, read);
    const opened = await openTrainingSource(data, {
      height: size[0],
      width: size[1],
      fit: choices.pictures.fit,
      prepare: preparations[choices.pictures.normalise],
    });
    const source = choices.run.objective.type === 'classify' ? opened : withoutLabels(opened);
    const run = runOf(choices, trainable, size, source.train);
    assertTrainingRun(run, teacher !== undefined);
    const settings = { ...choices.pictures, data, teacher: await teacherOf(values.teacher) };
    const folder = await openTrainingFolder(out, settingsOf(run, trainable, settings));
    const backend = await chooseBackend(values.backend, {
      threads: choices.threads,
      onFallback: (why) =>
        terminal.stderr.write(`${why} Training goes on with WASM, which takes several times as long.
`),
    });
    const progress = createProgress({ label: 'Training', stream: terminal.stderr });
    const stop = new AbortController();
    const onInterrupt = (): void => stop.abort();
    process.once('SIGINT', onInterrupt);
    process.once('SIGTERM', onInterrupt);
    try {
      const report = await runTrainingFolder(trainable, teacher, run, source, backend, folder, {
        signal: stop.signal,
        onLine: (line) => progress.update(line.step, run.steps, noteOf(line)),
      });
      progress.end();
      await writeTrainingChart(out);
      terminal.print(reportText(out, report, run.steps));
      return 0;
    } finally {
      process.removeListener('SIGINT', onInterrupt);
      process.removeListener('SIGTERM', onInterrupt);
    }
  },
};

/** What tells teachers apart: a run that is resumed must have the same. */
async function teacherOf(path: string | undefined): Promise<string> {
  return path === undefined ? 'the model itself' : sha256Hex(await readBytes(path, 'MODEL_NOT_FOUND'));
}

/** Throws USAGE where the model leaves its size open and none is given. */
function sizeOf({ graph }: Model, { size }: TrainChoices): readonly [number, number] {
  const [, , height, width] = graph.inputs[0]?.shape ?? [];
  const own =
    typeof height === 'number' && typeof width === 'number' ? ([height, width] as const) : undefined;
  const chosen = size ?? own;
  if (chosen !== undefined) return chosen;
  throw new StarlingError(
    'USAGE',
    'The model takes pictures of any size: give the one to train at, as --size 32x32.',
  );
}

function runOf(
  { run, steps, epochs, numShards }: TrainChoices,
  { name, division }: Trainable,
  size: readonly [number, number],
  { count, labels }: TrainingData,
): TrainingRun {
  return {
    ...run,
    objective: labels === undefined ? unlabelled(run.objective) : run.objective,
    name,
    size,
    numShards: numShards ?? division?.numShards ?? 2,
    steps: epochs === undefined ? steps : Math.max(1, Math.round((epochs * count) / run.batch)),
  };
}

/** Pictures without labels leave the teacher alone to learn from. */
function unlabelled(objective: Objective): Objective {
  return objective.type === 'classify' ? { ...objective, labelWeight: 0, teacherWeight: 1 } : objective;
}

function settingsOf(
  { objective, levels, size, ...run }: TrainingRun,
  { sha256 }: Trainable,
  data: TrainingSettings,
): TrainingSettings {
  const { type: task, ...weights } = objective;
  return { sha256, task, ...weights, levels: levels.join(), size: size.join('x'), ...run, ...data };
}

function noteOf(line: LogLine): string {
  return line.type === 'train'
    ? `loss ${line.loss.toFixed(3)}, kept ${line.keptFeatures.toFixed(2)}, ${line.secondsPerStep.toFixed(2)} s/step`
    : figureOf(line);
}

function figureOf({ accuracy, loss }: EvaluationResult): string {
  return accuracy === undefined
    ? `loss ${(loss ?? Number.NaN).toPrecision(4)}`
    : `top-1 ${(100 * accuracy).toFixed(2)} %`;
}

function reportText(out: string, { step, aborted, dense, curve }: TrainingReport, steps: number): string {
  const state = aborted
    ? `, stopped early: the same command goes on; so far: ${out}/${stoppedLevel}/plan`
    : '';
  return [
    `${out}: ${step} of ${steps} steps${state}; dense ${figureOf(dense)}`,
    ...curve.map(
      (level) =>
        `kept ${level.keep} (${level.keptFeatures.toFixed(3)} of the features): ${figureOf(level)}; ` +
        `${level.rounds} rounds, ${level.exchangedBytes} bytes; ${out}/kept-${level.keep}/plan`,
    ),
  ].join('\n');
}
