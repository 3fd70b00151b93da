/**
 * `npm run train:all`: the trainings behind the figures of training, one after the other. Each goes on where it was
 * interrupted, and what is settled so far is in bench/results/training.json at any time. Many hours in all.
 *
 *   npm run train:all [-- --only NAME] [--threads 2] [--backend native] [--list] [--collect] [--into DIR]
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chooseBackend } from '../cli/backendOption.ts';
import { evalTasks } from '../cli/evalTasks.ts';
import { writeBytes } from '../cli/files.ts';
import { openPlanFolder } from '../cli/planFolder.ts';
import { wholePredictor } from '../cli/roomPredictor.ts';
import { openBatch } from '../compiler/normalise/batchOpen.ts';
import { modelOf } from '../compiler/train/runGraph.ts';
import { cachePath, sharedPath } from '../eval/cacheDir.ts';
import { randomNetwork } from '../examples/cifar10/stages.ts';
import { saveModel } from '../graph/save.ts';
import { currentCommit } from '../tests/verify/results.ts';
import { type TrainingJob, trainingJobs } from './trainingJobs.ts';
import { collect, type Figures, figuresPath, isComplete, type TrainingRow } from './trainingRows.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    threads: { type: 'string', default: '2' },
    backend: { type: 'string', default: 'auto' },
    list: { type: 'boolean', default: false },
    collect: { type: 'boolean', default: false },
    /** Folder of the rows, where it is not bench/results: for a run beside other work. */
    into: { type: 'string' },
  },
});
const root = fileURLToPath(new URL('../', import.meta.url));
/** Milliseconds between two looks at what a running training has settled. */
const collectEveryMs = 60_000;

const shared = (path: string): string => sharedPath(path) ?? '';
const folder = cachePath('train');
const jobs = trainingJobs({
  folder,
  model: (name) => shared(`models/${name}.onnx`),
  data: (name) => shared(`data/${name}`),
  common: ['--threads', values.threads, '--backend', values.backend],
}).filter(({ name }) => name.includes(values.only));

process.exitCode = await main();

async function main(): Promise<number> {
  for (const job of jobs) {
    const row = await collected(job);
    if (values.list || values.collect || isComplete(row)) {
      process.stdout.write(`${job.name}: ${stateOf(row)}\n`);
      if (values.list)
        for (const command of job.commands) process.stdout.write(`  starling ${command.join(' ')}\n`);
      if (!values.list) await measure(job, row);
      continue;
    }
    const code = await run(job);
    await measure(job, await collected(job));
    process.stdout.write(`${job.name}: ${stateOf(await collected(job))}\n`);
    if (code !== 0) return code;
  }
  return 0;
}

function collected(job: TrainingJob): Promise<TrainingRow | undefined> {
  return collect(job.name, `${folder}/${job.name}`, currentCommit(), values.into);
}

function stateOf(row: TrainingRow | undefined): string {
  if (row === undefined) return 'nothing settled yet';
  const levels = row.levels.map(({ keep, accuracy, loss, figures }) => {
    const own = accuracy === undefined ? `loss ${loss?.toPrecision(3)}` : `${(100 * accuracy).toFixed(2)} %`;
    const measured = Object.entries(figures ?? {}).map(([name, value]) => `${name} ${value.toFixed(4)}`);
    return `kept ${keep}: ${[own, ...measured].join(', ')}`;
  });
  return `${row.step} of ${row.steps} steps; ${levels.join('; ')}`;
}

/** Resolves to the exit code; a training that is interrupted keeps what it has. */
async function run(job: TrainingJob): Promise<number> {
  const { commands, plan, random } = job;
  if (random !== undefined && !existsSync(random.path)) {
    await writeBytes(random.path, saveModel(openBatch(modelOf(randomNetwork(random.network, 1)))).bytes);
  }
  let stopped = false;
  const onStop = (): void => {
    stopped = true;
  };
  process.on('SIGINT', onStop).on('SIGTERM', onStop);
  const timer = setInterval(() => void collected(job), collectEveryMs);
  try {
    const made = plan === undefined || existsSync(join(plan.path, 'plan.json'));
    for (const command of made ? commands : [plan.command, ...commands]) {
      const code = await starling(command);
      if (code !== 0 || stopped) return code === 0 ? 130 : code;
    }
    return 0;
  } finally {
    clearInterval(timer);
    process.off('SIGINT', onStop).off('SIGTERM', onStop);
  }
}

function starling(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'cli/main.ts', ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  const stop = (): void => void child.kill('SIGTERM');
  process.once('SIGTERM', stop);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      process.off('SIGTERM', stop);
      resolve(code ?? 1);
    });
  });
}

/** By the task's own data, each level once: the whole model, which computes what its shards do. */
async function measure({ name, measure: by }: TrainingJob, row: TrainingRow | undefined): Promise<void> {
  if (by === undefined || row === undefined) return;
  const own = `${folder}/${name}`;
  const backend = await chooseBackend('auto', { threads: Number(values.threads) });
  const figuresOf = async (model: string, keep: number): Promise<Figures> => {
    const plan = await openPlanFolder(`${own}/kept-${keep}/plan`);
    const task = await evalTasks[by.task](plan, { data: by.data, normalise: undefined, limit: undefined });
    const bytes = new Uint8Array(await readFile(model));
    return (await task.run({ predict: await wholePredictor(bytes, backend) })).figures;
  };
  const [first] = row.levels;
  const todo = [
    ...(first === undefined
      ? []
      : [{ path: figuresPath(own, 'original'), model: by.model, keep: first.keep }]),
    ...row.levels.map(({ keep }) => ({
      path: figuresPath(own, keep),
      model: `${own}/kept-${keep}/model.onnx`,
      keep,
    })),
  ];
  for (const { path, model, keep } of todo) {
    if (!existsSync(path)) await writeBytes(path, `${JSON.stringify(await figuresOf(model, keep))}\n`);
  }
}
