/** The queue of `npm run train:all`, in its order: what is trained, how, and what its levels are measured by. Runs nothing. */
import { join } from 'node:path';
import type { evalTaskNames } from '../cli/evalTasks.ts';
import { exampleStages, type NetworkName, usualSteps } from '../examples/cifar10/stages.ts';

export interface TrainingJob {
  /** The row's name, and its folder under the folder of all. */
  readonly name: string;
  /** A plan thinned without training, which training begins with: made where it is missing. */
  readonly plan?: { readonly path: string; readonly command: readonly string[] };
  /** Command lines of `starling`; all but the last make what the last needs. */
  readonly commands: readonly (readonly string[])[];
  /** Written before, where it is missing. */
  readonly random?: { readonly network: NetworkName; readonly path: string };
  /** Besides what training measures itself: a task of `starling eval` on a folder of ../shared/data. */
  readonly measure?: {
    readonly task: (typeof evalTaskNames)[number];
    readonly data: string;
    readonly model: string;
  };
}

export interface Places {
  /** Folder of all trainings. */
  readonly folder: string;
  /** Of ../shared. */
  model(name: string): string;
  data(name: string): string;
  /** Options of every training: threads, backend. */
  readonly common: readonly string[];
}

const seed = 1;

export function trainingJobs(places: Places): readonly TrainingJob[] {
  const { folder, common } = places;
  const train = (name: string, model: string, data: string, options: string): readonly string[] => [
    ...['train', places.model(model), '--out', join(folder, name), '--data', data, ...options.split(' ')],
    ...common,
  ];
  const resnet = (name: string, depth: number, options: string): TrainingJob => ({
    name,
    commands: [train(name, `resnet${depth}-cifar10`, 'cifar10', `--rate 0.015 ${options}`)],
  });
  /** A plan trained on at the one kept ratio that it has, with the dense model as teacher. */
  const onwards = (name: string, plan: string, model: string, options: string): readonly string[] => [
    ...['train', plan, '--out', join(folder, name), ...options.split(' ')],
    ...['--teacher', places.model(model), '--levels', '', ...common],
  ];
  const further = (run: string, options: string): TrainingJob => {
    const plan = join(folder, run, 'kept-0.2', 'plan');
    const how = `--data cifar10 --keep 0.2 --rate 0.015 --seed 1 ${options}`;
    return {
      name: `${run}-further`,
      commands: [onwards(`${run}-further`, plan, 'resnet20-cifar10', how)],
    };
  };
  /** From where selecting by one budget and adjusting come to, which is far beyond a uniform beginning. */
  const adjusted = (name: string, model: string, compile: string, options: string): TrainingJob => {
    const path = join(folder, name, 'adjusted');
    const command = ['compile', places.model(model), '--out', path, ...compile.split(' ')];
    return { name, plan: { path, command }, commands: [onwards(name, path, model, options)] };
  };
  const adjustedResnet = (name: string, depth: number, compile: string, options: string): TrainingJob =>
    adjusted(
      name,
      `resnet${depth}-cifar10`,
      `--calibrate cifar10 ${compile}`,
      `--data cifar10 --scope global ${options}`,
    );
  /** The dense network first, then one job for each number of shards. */
  const example = (network: NetworkName): TrainingJob[] => {
    const out = join(folder, `cifar10-${network}`);
    const [dense = [], ...rest] = exampleStages({
      network,
      out,
      steps: usualSteps.dense,
      thinSteps: usualSteps.thin,
      shards: [2, 4],
      common: ['--data', 'cifar10', '--seed', String(seed), ...common],
    });
    const random = { network, path: join(out, 'random.onnx') };
    return [
      { name: `cifar10-${network}/dense`, commands: [dense], random },
      { name: `cifar10-${network}/2-shards`, commands: rest.slice(0, 3) },
      { name: `cifar10-${network}/4-shards`, commands: rest.slice(3) },
    ];
  };
  interface Taught {
    readonly model: string;
    /** Folder of pictures, of ../shared/data, that are fitted to and learned from. */
    readonly pictures: string;
    readonly normalise: string;
    readonly keep: number;
    readonly compile?: string;
    readonly options: string;
    readonly task: (typeof evalTaskNames)[number];
    /** Folder that gives the figure. */
    readonly data: string;
  }
  /** Without labels; AdamW. */
  const taught = (name: string, job: Taught): TrainingJob => {
    const { model, normalise, keep, compile = '', options, task } = job;
    const [pictures, data] = [places.data(job.pictures), places.data(job.data)];
    return {
      ...adjusted(
        name,
        model,
        `--shards 2 --keep ${keep} --calibrate ${pictures} --normalise ${normalise}${compile}`,
        `--data ${pictures} --normalise ${normalise} --keep ${keep} --scope global --optimiser adamw --seed 1 ${options}`,
      ),
      measure: { task, data, model: places.model(model) },
    };
  };
  return [
    resnet('resnet20-2-seed1', 20, '--shards 2 --steps 5000 --seed 1'),
    further('resnet20-2-seed1', '--steps 4000'),
    ...example('residual'),
    adjustedResnet(
      'resnet20-2-seed2',
      20,
      '--shards 2 --keep 0.2',
      '--keep 0.2 --rate 0.015 --steps 3000 --seed 2',
    ),
    // Training rounds what it exchanges itself, and makes the plan that does.
    adjustedResnet(
      'resnet56-2-uint8',
      56,
      '--shards 2 --keep 0.2',
      '--keep 0.2 --wire uint8 --rate 0.001 --steps 1500 --seed 1',
    ),
    adjustedResnet(
      'resnet56-4',
      56,
      '--shards 4 --keep 0.2',
      '--keep 0.2 --rate 0.001 --steps 1500 --seed 1',
    ),
    taught('esrgan-slim-2', {
      model: 'esrgan-slim-x4',
      pictures: 'camvid/unlabelled',
      normalise: 'unit',
      keep: 0.1,
      compile: ' --shape input=1x3x180x240',
      options: '--task restore --size 32x32 --batch 16 --steps 500 --rate 0.0001 --weight-decay 0',
      task: 'super-resolution',
      data: 'set5',
    }),
    taught('espnet-2', {
      model: 'espnet-camvid',
      pictures: 'camvid/unlabelled',
      normalise: 'espnet',
      keep: 0.2,
      options: '--task segment --batch 4 --temperature 1 --steps 1500 --rate 0.0003',
      task: 'segmentation',
      data: 'camvid',
    }),
    taught('yolox-nano-2', {
      model: 'yolox-nano-coco',
      pictures: 'imagenet-samples',
      normalise: 'yolox',
      keep: 0.2,
      options: '--task detect --batch 8 --steps 2000 --rate 0.0003',
      task: 'detection',
      data: 'voc100',
    }),
    ...example('transformer'),
  ];
}
