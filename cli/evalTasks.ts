/** The tasks of `starling eval` by name: which data set, prepared how, for a plan. Runs nothing. */
import { normalisations } from '../eval/normalisations.ts';
import { type Evaluation, evaluate, type Task } from '../eval/task.ts';
import { cifar10Classification, folderClassification } from '../eval/tasks/classification.ts';
import { vocDetection } from '../eval/tasks/detection.ts';
import { camvidSegmentation } from '../eval/tasks/segmentation.ts';
import { set5SuperResolution } from '../eval/tasks/superResolution.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Plan } from '../runtime/plan.ts';
import { required } from './command.ts';

/** Pictures of one batch, where the plan and the model take batches. */
const batchSize = 50;

export type EvalOptions = Readonly<Record<'data' | 'normalise' | 'limit', string | undefined>>;

/** A task of unknown truth: `run` closes over it. */
export interface Runnable {
  run(options: Parameters<typeof evaluate>[1]): Promise<Evaluation>;
}

function runnable<Truth>(task: Task<Truth>): Runnable {
  return { run: (options) => evaluate(task, options) };
}

/** Reads what of the data can be read ahead. Throws USAGE, INPUT_INVALID, or what the data sets throw. */
export const evalTasks = {
  async classification(plan, values) {
    const { data = 'cifar10' } = values;
    if (data !== 'cifar10') {
      return runnable(await folderClassification(data, normalisation(values, 'symmetric'), limitOf(values)));
    }
    const batch = Math.min(batchSize, plan.file.maxBatch);
    return runnable(await cifar10Classification(limitOf(values), batch));
  },
  async detection(plan, values) {
    const [, , height = 0, width = 0] = plan.file.inputs[0]?.shape ?? [];
    if (height !== width || height % 32 !== 0 || height === 0) {
      throw new StarlingError(
        'INPUT_INVALID',
        `Expected a plan with square pictures of a multiple of 32, got ${height} x ${width}.`,
      );
    }
    return runnable(await vocDetection(required(values.data, '--data'), height, limitOf(values)));
  },
  async segmentation(_plan, values) {
    const folder = required(values.data, '--data');
    return runnable(await camvidSegmentation(folder, normalisation(values, 'espnet'), limitOf(values)));
  },
  async 'super-resolution'(_plan, values) {
    return runnable(await set5SuperResolution(required(values.data, '--data'), limitOf(values)));
  },
} as const satisfies Record<string, (plan: Plan, values: EvalOptions) => Promise<Runnable>>;

export const evalTaskNames = Object.keys(evalTasks) as (keyof typeof evalTasks)[];

/** Throws StarlingError USAGE. */
export function oneOf<T extends string>(names: readonly T[], text: string, option: string): T {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw new StarlingError('USAGE', `Expected ${option} ${names.join(', ')}, got "${text}".`);
}

function normalisation(values: EvalOptions, usual: keyof typeof normalisations) {
  const names = Object.keys(normalisations) as (keyof typeof normalisations)[];
  return normalisations[oneOf(names, values.normalise ?? usual, '--normalise')];
}

function limitOf({ limit }: EvalOptions): number | undefined {
  if (limit === undefined) return undefined;
  const count = Number(limit);
  if (Number.isInteger(count) && count > 0) return count;
  throw new StarlingError('USAGE', `Expected --limit as a number of pictures, got "${limit}".`);
}
