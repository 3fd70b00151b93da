/**
 * The training loop: steps, evaluations, checkpoints and a log of JSON lines. It knows no files: where checkpoints
 * and lines go is passed in.
 */
import { StarlingError } from '../../protocol/errors.ts';
import type { EvaluationResult, StepReport, Trainer } from './trainerTypes.ts';
import type { TrainingData } from './trainingData.ts';

export type LogLine =
  | {
      readonly type: 'train';
      readonly step: number;
      /** Means since the last line. */
      readonly loss: number;
      /** Only with labels. */
      readonly accuracy?: number;
      readonly gradientNorm: number;
      readonly secondsPerStep: number;
      readonly rate: number;
      readonly keptFeatures: number;
      readonly keptElements: number;
    }
  | ({ readonly type: 'evaluation'; readonly step: number } & EvaluationResult);

/** Larger is better. */
export function worthOf(result: EvaluationResult): number {
  return result.accuracy ?? -(result.loss ?? Number.POSITIVE_INFINITY);
}

export interface LoopOptions {
  readonly steps: number;
  readonly logEvery: number;
  readonly evaluateEvery: number;
  readonly saveEvery: number;
  /** Samples that are not trained on. */
  readonly evaluation: TrainingData;
  /** An evaluation before this step cannot be the best: thinning goes on until then. */
  readonly bestFrom: number;
  log(line: LogLine): Promise<void> | void;
  /** The latest and the best state; kept by whoever calls. */
  save(which: 'latest' | 'best', checkpoint: Uint8Array): Promise<void>;
  /** Milliseconds; any origin. */
  now(): number;
  readonly signal?: AbortSignal;
}

export interface LoopResult {
  readonly step: number;
  readonly aborted: boolean;
  /** Worth of the best evaluation (`worthOf`); undefined where none came at or after `bestFrom`. */
  readonly best: number | undefined;
}

/**
 * Trains from where the trainer stands to the last step. `bestSoFar` is that of the run that is resumed. An abort
 * ends it after the step that runs, with everything saved. Throws SESSION_FAILED, or RUN_FAILED where the loss is not
 * a number any more.
 */
export async function runTraining(
  trainer: Trainer,
  options: LoopOptions,
  bestSoFar?: number,
): Promise<LoopResult> {
  const { steps, signal, log, save } = options;
  let best = bestSoFar;
  let window = newWindow();
  const due = (every: number): boolean => trainer.step % every === 0 || trainer.step === steps;
  while (trainer.step < steps && signal?.aborted !== true) {
    const start = options.now();
    const report = await trainer.trainStep();
    window.milliseconds += options.now() - start;
    if (!Number.isFinite(report.loss)) {
      throw new StarlingError(
        'RUN_FAILED',
        `The loss is not a number at step ${report.step}; go on from the last checkpoint with a lower --rate.`,
      );
    }
    window.reports.push(report);
    if (due(options.logEvery)) {
      await log(lineOf(window.reports, window.milliseconds / 1000));
      window = newWindow();
    }
    if (due(options.evaluateEvery)) {
      const result = await trainer.evaluate(options.evaluation);
      await log({ type: 'evaluation', step: trainer.step, ...result });
      if (trainer.step >= options.bestFrom && worthOf(result) > (best ?? Number.NEGATIVE_INFINITY)) {
        best = worthOf(result);
        await save('best', trainer.save());
      }
    }
    if (due(options.saveEvery)) await save('latest', trainer.save());
  }
  await save('latest', trainer.save());
  return { step: trainer.step, aborted: trainer.step < steps, best };
}

interface Window {
  readonly reports: StepReport[];
  /** Of the steps alone, without evaluations and files. */
  milliseconds: number;
}

function newWindow(): Window {
  return { reports: [], milliseconds: 0 };
}

function lineOf(reports: readonly StepReport[], seconds: number): LogLine {
  const last = reports.at(-1);
  const mean = (read: (report: StepReport) => number): number =>
    Number((reports.reduce((sum, report) => sum + read(report), 0) / reports.length).toPrecision(5));
  return {
    type: 'train',
    step: last?.step ?? 0,
    loss: mean(({ loss }) => loss),
    ...(last?.accuracy === undefined ? {} : { accuracy: mean(({ accuracy = 0 }) => accuracy) }),
    gradientNorm: mean(({ gradientNorm }) => gradientNorm),
    secondsPerStep: Number((seconds / reports.length).toPrecision(4)),
    rate: Number((last?.rate ?? 0).toPrecision(4)),
    keptFeatures: Number((last?.kept.features ?? 1).toFixed(4)),
    keptElements: Number((last?.kept.elements ?? 1).toFixed(4)),
  };
}
