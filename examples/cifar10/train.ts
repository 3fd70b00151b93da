/**
 * Trains a network of our own on CIFAR-10 from random weights, then thins what its shards exchange, for two and for four
 * shards; compiles dense and sparse plans. The same command goes on where it was interrupted. About two hours for the
 * dense network and half an hour for each number of shards on two idle cores with the native runtime.
 *
 *   npx tsx examples/cifar10/train.ts [--network residual|transformer] [--out DIR] [--steps 6000] [--thin 1500]
 *     [--data cifar10|FOLDER] [--shards 2,4] [--batch 128] [--threads 2] [--backend auto|native|wasm] [--seed 1]
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeBytes } from '../../cli/files.ts';
import { runCommandLine } from '../../cli/runCommandLine.ts';
import { openBatch } from '../../compiler/normalise/batchOpen.ts';
import { modelOf } from '../../compiler/train/runGraph.ts';
import { saveModel } from '../../graph/save.ts';
import { exampleStages, type NetworkName, networkNames, randomNetwork, usualSteps } from './stages.ts';

const { values } = parseArgs({
  options: {
    network: { type: 'string', default: 'residual' },
    out: { type: 'string' },
    steps: { type: 'string', default: String(usualSteps.dense) },
    thin: { type: 'string', default: String(usualSteps.thin) },
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

process.exitCode = await main();

async function main(): Promise<number> {
  const network = networkNames.find((name) => name === values.network);
  if (network === undefined) {
    process.stderr.write(`Expected --network ${networkNames.join(' or ')}, got "${values.network}".\n`);
    return 2;
  }
  const out = values.out ?? `.cache/train/cifar10-${network}`;
  await writeRandom(network, join(out, 'random.onnx'));
  const { data, batch, seed, threads, backend } = values;
  const common = Object.entries({ data, batch, seed, threads, backend });
  const stages = exampleStages({
    network,
    out,
    steps: Number(values.steps),
    thinSteps: Number(values.thin),
    shards: values.shards.split(',').map(Number),
    common: common.flatMap(([option, value]) => [`--${option}`, value]),
  });
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

/** Where it is there already, a training has begun from it. */
async function writeRandom(network: NetworkName, path: string): Promise<void> {
  if (existsSync(path)) return;
  const graph = randomNetwork(network, Number(values.seed));
  await writeBytes(path, saveModel(openBatch(modelOf(graph))).bytes);
}
