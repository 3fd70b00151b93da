/** The options of `starling train`, parsed: what to train towards, how long, and how. */
import { falls } from '../compiler/train/course.ts';
import type { Objective } from '../compiler/train/objective.ts';
import { type PreparationName, preparationNames } from '../eval/preparations.ts';
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import type { OptionHelp } from './command.ts';
import { numberOf } from './numberOption.ts';
import { type Fit, fits } from './trainingPictures.ts';
import type { TrainingRun } from './trainingRun.ts';

/** For parseArguments. */
export const trainArguments = {
  data: { type: 'string' },
  out: { type: 'string' },
  task: { type: 'string', default: 'classify' },
  teacher: { type: 'string' },
  size: { type: 'string' },
  fit: { type: 'string' },
  normalise: { type: 'string', default: 'imagenet' },
  shards: { type: 'string' },
  keep: { type: 'string', default: '0.2' },
  levels: { type: 'string', default: '0.4,0.1,0.05,0' },
  owners: { type: 'string', default: 'assigned' },
  scope: { type: 'string', default: 'uniform' },
  wire: { type: 'string', default: 'float32' },
  steps: { type: 'string', default: '4000' },
  epochs: { type: 'string' },
  batch: { type: 'string', default: '128' },
  optimiser: { type: 'string', default: 'sgd' },
  rate: { type: 'string', default: '0.03' },
  fall: { type: 'string', default: 'linear' },
  'label-weight': { type: 'string', default: '0.2' },
  smoothing: { type: 'string', default: '0' },
  temperature: { type: 'string', default: '2' },
  'weight-decay': { type: 'string', default: '0.0001' },
  clip: { type: 'string', default: '5' },
  seed: { type: 'string', default: '1' },
  start: { type: 'string', default: 'trained' },
  threads: { type: 'string' },
  backend: { type: 'string', default: 'auto' },
} as const;

type Name = keyof typeof trainArguments;

export type TrainValues = Readonly<Partial<Record<Name, string | undefined>>>;

export const tasks = ['classify', 'segment', 'restore', 'detect', 'imitate'] as const;

export const trainHelp: OptionHelp<Name> = {
  data: ['cifar10|FOLDER', 'pictures, with a sub-folder for each class where there are labels'],
  out: ['DIR', 'folder of the run; the same command goes on where it was interrupted'],
  task: [tasks.join('|'), 'what is learned (classify)'],
  teacher: ['MODEL', 'whose answers are imitated (the dense model)'],
  shards: ['2', 'parts of every layer'],
  keep: ['0.2', 'part of the features that is sent, settled first'],
  levels: ['0.4,0.1,0.05,0', 'further parts, each with a plan of its own'],
  owners: [
    'assigned|contiguous',
    'who owns which channels: so that little energy crosses, or in order (assigned)',
  ],
  scope: ['uniform|global', 'the same part of every exchange, or one budget for all (uniform)'],
  wire: ['float32|uint8', 'what features travel as (float32)'],
  steps: ['4000', 'steps of the whole course'],
  epochs: ['E', 'the same in passes over the data'],
  batch: ['128', 'samples of a step'],
  optimiser: ['sgd|adamw', 'Nesterov momentum, or AdamW for transformers (sgd)'],
  rate: ['0.03', 'learning rate after the warm-up'],
  fall: ['linear|cosine', 'how it falls along branches (linear)'],
  'label-weight': ['0.2', 'of labels beside the teacher'],
  smoothing: ['0', 'of labels'],
  temperature: ['2', "softens the teacher's scores"],
  'weight-decay': ['0.0001', 'of weights of two or more axes'],
  clip: ['5', 'largest common norm of the gradients'],
  size: ['HxW', "pictures are trained at, where the model's are open"],
  fit: [fits.join('|'), 'whether pictures are cut out or shrunk to that size'],
  normalise: [preparationNames.join('|'), 'how pictures become inputs (imagenet)'],
  start: ['trained|random', "from the model's weights or from random ones (trained)"],
  seed: ['1', 'of everything that is random'],
  threads: ['N', 'of onnxruntime'],
  backend: ['auto|native|wasm', 'which onnxruntime trains (auto)'],
};

export interface TrainChoices {
  /** All but what the model says: size and shards where they are not given, steps where epochs are. */
  readonly run: Omit<TrainingRun, 'name' | 'numShards' | 'size' | 'steps'>;
  readonly steps: number;
  readonly epochs: number | undefined;
  readonly numShards: number | undefined;
  readonly size: readonly [number, number] | undefined;
  readonly pictures: { readonly fit: Fit; readonly normalise: PreparationName };
  readonly threads: number | undefined;
}

/** Throws USAGE. */
export function parseTrain(values: TrainValues): TrainChoices {
  const text = (name: Name): string => values[name] ?? '';
  const number = (name: Name, low: number, high: number, whole = false): number =>
    numberOf(`--${name}`, text(name), low, high, whole);
  const optional = (name: Name, low: number, high: number, whole = false): number | undefined =>
    values[name] === undefined ? undefined : number(name, low, high, whole);
  return {
    run: {
      objective: objectiveOf(values, number),
      keep: number('keep', 0, 1),
      levels: text('levels')
        .split(',')
        .flatMap((level) => (level === '' ? [] : [numberOf('--levels', level, 0, 1)])),
      owners: oneOf('--owners', text('owners'), ['contiguous', 'assigned']),
      scope: oneOf('--scope', text('scope'), ['uniform', 'global']),
      wire: oneOf('--wire', text('wire'), ['float32', 'uint8']),
      batch: number('batch', 1, 4096, true),
      optimiser: oneOf('--optimiser', text('optimiser'), ['sgd', 'adamw']),
      rate: number('rate', 0, 10),
      fall: oneOf('--fall', text('fall'), falls),
      weightDecay: number('weight-decay', 0, 1),
      clipNorm: number('clip', 1e-6, 1e12),
      seed: number('seed', 0, 2 ** 31, true),
      ...startOf(text('start')),
    },
    steps: number('steps', 1, 1e7, true),
    epochs: optional('epochs', 0.001, 1e6),
    numShards: optional('shards', 1, limits.shards, true),
    size: sizeOf(values.size),
    pictures: {
      fit: oneOf('--fit', values.fit ?? usualFit(values.task), fits),
      normalise: oneOf('--normalise', text('normalise'), preparationNames),
    },
    threads: optional('threads', 1, 256, true),
  };
}

/** Runs of trained models, begun before there was a choice, go on. */
function startOf(text: string): Pick<TrainingRun, 'start'> {
  return oneOf('--start', text, ['trained', 'random']) === 'random' ? { start: 'random' } : {};
}

function objectiveOf(
  values: TrainValues,
  number: (name: Name, low: number, high: number) => number,
): Objective {
  const type = oneOf('--task', values.task ?? '', tasks);
  const temperature = number('temperature', 0.01, 100);
  if (type === 'segment') return { type, temperature };
  if (type !== 'classify') return { type };
  const labelWeight = number('label-weight', 0, 1);
  return {
    type,
    labelWeight,
    teacherWeight: 1 - labelWeight,
    smoothing: number('smoothing', 0, 0.999),
    temperature,
  };
}

/** A picture that is enlarged loses nothing by being cut; others want to be seen whole. */
function usualFit(task: string | undefined): Fit {
  return task === 'restore' ? 'crop' : 'cover';
}

function sizeOf(text: string | undefined): readonly [number, number] | undefined {
  if (text === undefined) return undefined;
  const [height = 0, width = 0, ...more] = text.split('x').map(Number);
  const fit = [height, width].every((side) => Number.isInteger(side) && side > 0);
  if (fit && more.length === 0) return [height, width];
  throw new StarlingError('USAGE', `Expected --size like 360x480 (height x width), got "${text}".`);
}

function oneOf<const T extends string>(option: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw new StarlingError('USAGE', `Expected ${option} ${choices.join(', ')}, got "${text}".`);
}
