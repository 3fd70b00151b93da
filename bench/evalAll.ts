/**
 * `npm run eval:all`: compiles the models of ../shared for some shards and runs `starling eval` on their data; the figures
 * of the shards beside the original's go to bench/results/tasks.json. Half an hour or so; `--only NAME` takes a part of it.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runCommandLine } from '../cli/runCommandLine.ts';
import { formatTable } from '../cli/table.ts';
import { cachePath, sharedPath } from '../eval/cacheDir.ts';
import { currentCommit } from '../tests/verify/results.ts';

interface Job {
  readonly model: string;
  readonly shards: number;
  readonly axis: 'channels' | 'rows';
  readonly task: string;
  /** `cifar10` or a folder of ../shared/data. */
  readonly data: string;
  /** The figure that is published, or was measured elsewhere on the original. */
  readonly stated: Readonly<Record<string, number>>;
  readonly shape?: string;
}

const cifar = { task: 'classification', data: 'cifar10' };
const resnet20 = { ...cifar, model: 'resnet20-cifar10', stated: { top1: 0.9173 } };
const mobilenet = {
  model: 'mobilenet-v1-0.25-imagenet',
  task: 'classification',
  data: 'imagenet-samples',
  stated: { top1: 0.573, top5: 0.808 },
};
const yolox = { model: 'yolox-nano-coco', task: 'detection', data: 'voc100', stated: { mAP50: 0.784 } };
const espnet = { model: 'espnet-camvid', task: 'segmentation', data: 'camvid', stated: { meanIoU: 0.573 } };
const enlarge = { task: 'super-resolution', data: 'set5', shape: 'input=1x3x64x64' };
const slim = { ...enlarge, model: 'esrgan-slim-x4', stated: { psnrY: 28.64 } };
const thick = { ...enlarge, model: 'esrgan-thick-x4', stated: { psnrY: 29.95 } };

/** Without esrgan-thick by channels: its exchanges make it an hour. */
const jobs: readonly Job[] = [
  { ...resnet20, shards: 2, axis: 'channels' },
  { ...resnet20, shards: 4, axis: 'channels' },
  { ...resnet20, shards: 2, axis: 'rows' },
  { ...resnet20, shards: 4, axis: 'rows' },
  { ...mobilenet, shards: 2, axis: 'channels' },
  { ...mobilenet, shards: 2, axis: 'rows' },
  { ...yolox, shards: 2, axis: 'channels' },
  { ...yolox, shards: 2, axis: 'rows' },
  { ...espnet, shards: 2, axis: 'channels' },
  { ...espnet, shards: 2, axis: 'rows' },
  { ...slim, shards: 2, axis: 'channels' },
  { ...slim, shards: 2, axis: 'rows' },
  { ...thick, shards: 2, axis: 'rows' },
];

interface Result {
  readonly name: string;
  readonly commit: string;
  readonly date: string;
  readonly stated: Readonly<Record<string, number>>;
  readonly figures: Readonly<Record<string, number>>;
  readonly original: Readonly<Record<string, number>>;
  readonly agreement: number;
}

const out = fileURLToPath(new URL('results/tasks.json', import.meta.url));
const commit = currentCommit();
const header = ['division', 'figure', 'shards', 'original', 'stated', 'alike'];
const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, limit: { type: 'string' } },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const results = readResults();
  let failed = 0;
  for (const job of jobs.filter((candidate) => nameOf(candidate).includes(values.only))) {
    const result = await run(job).catch((thrown: unknown) => String(thrown));
    if (typeof result === 'string') {
      failed++;
      process.stdout.write(`${nameOf(job)}: ${result}\n`);
      continue;
    }
    results.set(result.name, result);
    process.stdout.write(`${formatTable(rowsOf(result))}\n`);
    // A part of the data is for trying things out.
    if (values.limit === undefined) writeResults([...results.values()]);
  }
  process.stdout.write(`${formatTable([header, ...[...results.values()].flatMap(rowsOf)])}\n`);
  return failed === 0 ? 0 : 1;
}

async function run(job: Job): Promise<Result> {
  const model = sharedPath(`models/${job.model}.onnx`);
  const data = job.data === 'cifar10' ? job.data : sharedPath(`data/${job.data}`);
  if (model === undefined || data === undefined)
    throw new Error('there is no ../shared with models and data.');
  const folder = cachePath(`eval/${nameOf(job).replaceAll(' ', '-')}`);
  const shape = job.shape === undefined ? [] : ['--shape', job.shape];
  try {
    await starling(
      'compile',
      model,
      '--shards',
      String(job.shards),
      '--axis',
      job.axis,
      '--out',
      folder,
      ...shape,
    );
    const limit = values.limit === undefined ? [] : ['--limit', values.limit];
    const json = await starling(
      'eval', folder, '--task', job.task, '--data', data, '--model', model, '--json', ...limit,
    ); // biome-ignore format: a command line
    const name = nameOf(job);
    const { stated } = job;
    return { name, commit, date: new Date().toISOString().slice(0, 10), stated, ...JSON.parse(json) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function nameOf({ model, axis, shards }: Job): string {
  return `${model} ${axis} ${shards}`;
}

/** The last line that the command prints. */
async function starling(...args: string[]): Promise<string> {
  const lines: string[] = [];
  const code = await runCommandLine(args, { print: (line) => lines.push(line), stderr: process.stderr });
  if (code !== 0) throw new Error(`starling ${args[0]} ended with ${code}.`);
  return lines.at(-1) ?? '';
}

function readResults(): Map<string, Result> {
  try {
    const list = JSON.parse(readFileSync(out, 'utf8')) as Result[];
    return new Map(list.map((result) => [result.name, result]));
  } catch {
    return new Map();
  }
}

function writeResults(results: readonly Result[]): void {
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, `[\n${results.map((result) => JSON.stringify(result)).join(',\n')}\n]\n`);
}

function rowsOf({ name, figures, original, stated, agreement }: Result): string[][] {
  return Object.entries(figures).map(([figure, value]) => [
    name,
    figure,
    value.toFixed(4),
    (original[figure] ?? Number.NaN).toFixed(4),
    String(stated[figure] ?? ''),
    `${(100 * agreement).toFixed(4)} %`,
  ]);
}
