/** The example as command lines of `starling`, one after the other: train from random weights, thin, compile. Runs nothing. */
import { join } from 'node:path';
import { cifar10Classes } from '../../eval/cifar10.ts';
import type { Graph } from '../../graph/graph.ts';
import { residualNetwork } from './residualNetwork.ts';
import { visionTransformer } from './visionTransformer.ts';

export const networkNames = ['residual', 'transformer'] as const;
export type NetworkName = (typeof networkNames)[number];

/** From random weights, and of each thinning: 92 % and its curves in less than two hours on two cores. */
export const usualSteps = { dense: 6000, thin: 1500 } as const;

export interface ExampleOptions {
  readonly network: NetworkName;
  /** Folder for everything. */
  readonly out: string;
  /** From random weights, and of each thinning. */
  readonly steps: number;
  readonly thinSteps: number;
  readonly shards: readonly number[];
  /** Options of every training: data, batch, threads, backend, seed. */
  readonly common: readonly string[];
}

interface Recipe {
  make(seed: number): Graph;
  readonly dense: readonly string[];
  readonly thin: readonly string[];
}

const recipes: Readonly<Record<NetworkName, Recipe>> = {
  residual: {
    make: residualNetwork,
    dense: ['--optimiser', 'sgd', '--rate', '0.1', '--weight-decay', '0.0005', '--clip', '10'],
    thin: ['--rate', '0.015', '--weight-decay', '0.0005'],
  },
  transformer: {
    make: visionTransformer,
    dense: ['--optimiser', 'adamw', '--rate', '0.001', '--weight-decay', '0.05', '--clip', '1'],
    thin: ['--optimiser', 'adamw', '--rate', '0.0002', '--weight-decay', '0.05', '--clip', '1'],
  },
};

/** Labels alone, smoothed; nothing is divided. */
const fromRandom = [
  '--start',
  'random',
  '--label-weight',
  '1',
  '--smoothing',
  '0.1',
  '--shards',
  '1',
  '--keep',
  '1',
  '--levels',
  '',
];
/** Plans take 8-bit pictures, as a page has them, and know what their scores stand for. */
export const pageOptions: readonly string[] = [
  ...['--pixels', 'in', '--pixel-mean', '0.485,0.456,0.406', '--pixel-std', '0.229,0.224,0.225'],
  ...['--classes', cifar10Classes.join()],
];

export function randomNetwork(network: NetworkName, seed: number): Graph {
  return recipes[network].make(seed);
}

export function exampleStages(options: ExampleOptions): readonly (readonly string[])[] {
  const { network, out, steps, thinSteps, shards, common } = options;
  const recipe = recipes[network];
  const dense = join(out, 'dense', 'kept-1', 'model.onnx');
  const train = (model: string, folder: string, count: number, further: readonly string[]) => [
    ...['train', model, '--out', join(out, folder), '--steps', String(count), ...further, ...common],
  ];
  const compile = (model: string, plan: string, further: readonly string[]) => [
    ...[
      'compile',
      model,
      '--out',
      join(out, 'plans', plan),
      ...further,
      ...pageOptions,
      '--shape',
      'pictures=1x3x32x32',
    ],
  ];
  return [
    train(join(out, 'random.onnx'), 'dense', steps, [...fromRandom, ...recipe.dense]),
    ...shards.flatMap((count) => {
      const level = join(out, `${count}-shards`, 'kept-0.2');
      const division = ['--division', join(level, 'division.json')];
      return [
        train(dense, `${count}-shards`, thinSteps, ['--shards', String(count), ...recipe.thin]),
        compile(dense, `dense-${count}`, ['--shards', String(count)]),
        compile(join(level, 'model.onnx'), `sparse-${count}`, division),
      ];
    }),
  ];
}
