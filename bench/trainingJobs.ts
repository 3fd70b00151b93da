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
  const onwards = (name: string, plan: string, model: string, options: string): TrainingJob => ({
    name,
    commands: [
      [
        ...['train', plan, '--out', join(folder, name), '--data', 'cifar10', ...options.split(' ')],
        ...['--teacher', places.model(model), '--levels', '', ...common],
      ],
    ],
  });
  const further = (run: string, options: string): TrainingJob =>
    onwards(
      `${run}-further`,
      join(folder, run, 'kept-0.2', 'plan'),
      'resnet20-cifar10',
      `--keep 0.2 --rate 0.015 --seed 1 ${options}`,
    );
  /** From where selecting by one budget and adjusting come to, which is far beyond a uniform beginning. */
  const adjustedResnet = (name: string, depth: number, compile: string, options: string): TrainingJob => {
    const model = `resnet${depth}-cifar10`;
    const path = join(folder, name, 'adjusted');
    const made = ['compile', places.model(model), '--out', path, '--calibrate', 'cifar10'];
    return {
      ...onwards(name, path, model, `--scope global --rate 0.015 ${options}`),
      plan: { path, command: [...made, ...compile.split(' ')] },
    };
  };
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
  const taught = (
    name: string,
    model: string,
    pictures: string,
    options: string,
    task: (typeof evalTaskNames)[number],
    data: string,
  ): TrainingJob => ({
    name,
    commands: [train(name, model, places.data(pictures), options)],
    measure: { task, data: places.data(data), model: places.model(model) },
  });
  const few = '--shards 2 --levels 0 --seed 1';
  return [
    resnet('resnet20-2-seed1', 20, '--shards 2 --steps 5000 --seed 1'),
    further('resnet20-2-seed1', '--steps 4000'),
    ...example('residual'),
    adjustedResnet('resnet20-2-seed2', 20, '--shards 2 --keep 0.2', '--keep 0.2 --steps 3000 --seed 2'),
    // Training rounds what it exchanges itself, and makes the plan that does.
    adjustedResnet(
      'resnet56-2-uint8',
      56,
      '--shards 2 --keep 0.2',
      '--keep 0.2 --wire uint8 --steps 2000 --seed 1',
    ),
    adjustedResnet('resnet56-4', 56, '--shards 4 --keep 0.2', '--keep 0.2 --steps 2000 --seed 1'),
    taught(
      'esrgan-slim-2',
      'esrgan-slim-x4',
      'camvid/unlabelled',
      `--task restore --size 32x32 --normalise unit --batch 16 --keep 0.1 --steps 1500 --optimiser adamw --rate 0.0003 --weight-decay 0 ${few}`,
      'super-resolution',
      'set5',
    ),
    taught(
      'espnet-2',
      'espnet-camvid',
      'camvid/unlabelled',
      `--task segment --normalise espnet --batch 4 --temperature 1 --keep 0.2 --steps 1500 --optimiser adamw --rate 0.0003 ${few}`,
      'segmentation',
      'camvid',
    ),
    taught(
      'yolox-nano-2',
      'yolox-nano-coco',
      'imagenet-samples',
      `--task detect --normalise yolox --batch 8 --keep 0.2 --steps 2000 --optimiser adamw --rate 0.0003 ${few}`,
      'detection',
      'voc100',
    ),
    ...example('transformer'),
  ];
}
