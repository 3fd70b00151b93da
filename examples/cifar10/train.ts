/**
 * Trains a network of our own on CIFAR-10 from random weights, then thins what its shards exchange, for two and for four
 * shards; compiles dense and sparse plans. The same command goes on where it was interrupted. About two hours for the
 * dense network and half an hour for each number of shards on two idle cores with the native runtime.
 *
 *   npx tsx examples/cifar10/train.ts [--network residual|transformer] [--out DIR] [--steps 12000] [--thin 4000]
 *     [--data cifar10|FOLDER] [--shards 2,4] [--threads 2] [--backend auto|native|wasm]
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeBytes } from '../../cli/files.ts';
import { runCommandLine } from '../../cli/runCommandLine.ts';
import { openBatch } from '../../compiler/normalise/batchOpen.ts';
import { modelOf } from '../../compiler/train/runGraph.ts';
import { saveModel } from '../../graph/save.ts';
import { residualNetwork } from './residualNetwork.ts';
import { visionTransformer } from './visionTransformer.ts';

const networks = {
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
} as const;

const { values } = parseArgs({
  options: {
    network: { type: 'string', default: 'residual' },
    out: { type: 'string' },
    steps: { type: 'string', default: '12000' },
    thin: { type: 'string', default: '4000' },
    batch: { type: 'string', default: '128' },
    data: { type: 'string', default: 'cifar10' },
    shards: { type: 'string', default: '2,4' },
    threads: { type: 'string', default: '2' },
    backend: { type: 'string', default: 'auto' },
    seed: { type: 'string', default: '1' },
  },
});

/** As shells count a stop by Ctrl-C. */
const interrupted = 130;

/** The plans take 8-bit pictures, as a page has them. */
const pictures = [
  ...['--pixels', 'in', '--pixel-mean', '0.485,0.456,0.406', '--pixel-std', '0.229,0.224,0.225'],
  ...['--shape', 'pictures=1x3x32x32'],
];

process.exitCode = await main();

async function main(): Promise<number> {
  const network = values.network === 'transformer' ? networks.transformer : networks.residual;
  const out = values.out ?? `.cache/train/cifar10-${values.network}`;
  const random = join(out, 'random.onnx');
  const seed = Number(values.seed);
  if (!existsSync(random)) {
    await writeBytes(random, saveModel(openBatch(modelOf(network.make(seed)))).bytes);
  }
  const common = [
    ...['--data', values.data, '--batch', values.batch, '--seed', values.seed],
    ...['--threads', values.threads, '--backend', values.backend],
  ];
  const labels = [
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
  const denseOut = join(out, 'dense');
  const dense = join(denseOut, 'kept-1', 'model.onnx');
  const stages: (readonly string[])[] = [
    ['train', random, '--out', denseOut, '--steps', values.steps, ...labels, ...network.dense, ...common],
  ];
  for (const shards of values.shards.split(',')) {
    const folder = join(out, `${shards}-shards`);
    const division = join(folder, 'kept-0.2', 'division.json');
    const plan = (kind: string) => join(out, 'plans', `${kind}-${shards}`);
    stages.push(
      [
        'train',
        dense,
        '--out',
        folder,
        '--shards',
        shards,
        '--steps',
        values.thin,
        ...network.thin,
        ...common,
      ],
      ['compile', dense, '--shards', shards, '--out', plan('dense'), ...pictures],
      [
        'compile',
        join(folder, 'kept-0.2', 'model.onnx'),
        '--division',
        division,
        '--out',
        plan('sparse'),
        ...pictures,
      ],
    );
  }
  return runStages(stages);
}

/** One after the other, until one fails or somebody presses Ctrl-C: a training then keeps what it has. */
async function runStages(stages: readonly (readonly string[])[]): Promise<number> {
  let stopped = false;
  process.once('SIGINT', () => {
    stopped = true;
  });
  for (const stage of stages) {
    const code = await runCommandLine(stage, {
      print: (line) => process.stdout.write(`${line}\n`),
      stderr: process.stderr,
    });
    if (code !== 0) return code;
    if (stopped) return interrupted;
  }
  return 0;
}
