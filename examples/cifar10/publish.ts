/**
 * Puts what `train.ts` has made where the page finds it: dense and sparse plans, measured on all test pictures, some of
 * these pictures, and a catalogue. What is not trained yet is left out, and said; run it again then.
 *
 *   npx tsx examples/cifar10/publish.ts [--from DIR] [--into public/models/cifar10] [--keep 0.2] [--limit 10000]
 *     [--backend auto|native|wasm]
 */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chooseBackend } from '../../cli/backendOption.ts';
import { writeBytes } from '../../cli/files.ts';
import { createProgress } from '../../cli/progress.ts';
import { runCommandLine } from '../../cli/runCommandLine.ts';
import { loadModel } from '../../graph/load.ts';
import { type PlanMeasurement, parsePlan } from '../../protocol/plan.ts';
import { measurePlan } from './measurePlan.ts';
import { writeSamplePictures } from './samplePictures.ts';
import { pageOptions } from './stages.ts';

interface Variant {
  readonly exchange: 'dense' | 'sparse';
  readonly shards: number;
  readonly model: string;
  readonly division: readonly string[];
}

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '.cache/train/cifar10-residual' },
    into: { type: 'string', default: 'public/models/cifar10' },
    keep: { type: 'string', default: '0.2' },
    limit: { type: 'string', default: '10000' },
    backend: { type: 'string', default: 'auto' },
  },
});
const { from, into } = values;

const sparse = (shards: number): Variant => {
  const level = join(from, `${shards}-shards`, `kept-${values.keep}`);
  return {
    exchange: 'sparse',
    shards,
    model: join(level, 'model.onnx'),
    division: ['--division', join(level, 'division.json')],
  };
};
/** Two devices take two shards each of the dense plan for four, and compute what they would of one for two. */
const variants: readonly Variant[] = [
  { exchange: 'dense', shards: 4, model: join(from, 'dense/kept-1/model.onnx'), division: ['--shards', '4'] },
  sparse(2),
  sparse(4),
];

process.exitCode = await main();

async function main(): Promise<number> {
  const backend = await chooseBackend(values.backend);
  let dense: PlanMeasurement | undefined;
  const plans: { exchange: string; shards: number; path: string }[] = [];
  await rm(into, { recursive: true, force: true });
  for (const { exchange, shards, model, division } of variants) {
    // A level's plan is the last that is written of it.
    if (!existsSync(join(model, '../plan/plan.json'))) {
      process.stdout.write(`Left out: ${model} is not settled yet.\n`);
      continue;
    }
    const name = `${exchange}-${shards}`;
    const folder = join(into, name);
    const input = loadModel(await readFile(model)).graph.inputs[0]?.name ?? '';
    const command = ['compile', model, ...division, '--out', folder, '--name', `cifar10-${name}`];
    const code = await runCommandLine([...command, ...pageOptions, '--shape', `${input}=1x3x32x32`], {
      print: (line) => process.stdout.write(`${line}\n`),
      stderr: process.stderr,
    });
    if (code !== 0) return code;
    const progress = createProgress({ label: `Measuring ${name}`, stream: process.stderr });
    const onProgress = (done: number, total: number) => progress.update(done, total);
    const own = await measurePlan(folder, { backend, limit: Number(values.limit), onProgress });
    progress.end();
    if (exchange === 'dense') dense = own;
    const original = exchange === 'dense' ? undefined : dense?.figures;
    await note(folder, { ...own, ...(original === undefined ? {} : { original }) });
    plans.push({ exchange, shards, path: `${name}/plan.json` });
  }
  const pictures = await writeSamplePictures(into);
  await writeBytes(join(into, 'catalogue.json'), `${JSON.stringify({ plans, pictures }, null, 1)}\n`);
  return 0;
}

async function note(folder: string, measured: PlanMeasurement): Promise<void> {
  const path = join(folder, 'plan.json');
  const plan = parsePlan(await readFile(path, 'utf8'));
  await writeBytes(path, `${JSON.stringify({ ...plan, measured })}\n`);
  process.stdout.write(`${plan.name}: ${JSON.stringify(measured)}\n`);
}
