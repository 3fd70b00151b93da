/** `starling train` from a folder of pictures to a plan, at the size of a toy: the trend, interruption, and what comes out. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { openBatch } from '../compiler/normalise/batchOpen.ts';
import { normaliseModel } from '../compiler/normalise/normaliseModel.ts';
import { modelOf } from '../compiler/train/runGraph.ts';
import { preparations } from '../eval/preparations.ts';
import { encodePng } from '../eval/rgbImage.ts';
import { loadModel } from '../graph/load.ts';
import { saveModel } from '../graph/save.ts';
import { tinyClassifier, tinyPictures } from '../tests/support/tinyClassifier.ts';
import { openPlanFolder } from './planFolder.ts';
import { runCommandLine } from './runCommandLine.ts';
import { readTrainable } from './trainable.ts';
import { readCurve } from './trainingCurve.ts';
import { openTrainingFolder } from './trainingFolder.ts';
import { runTrainingFolder, stoppedLevel, type TrainingRun } from './trainingRun.ts';
import { openTrainingSource } from './trainingSource.ts';

/** A busy machine takes its time. */
const slow = { timeout: 180_000 };

let root = '';
const model = () => join(root, 'model.onnx');
const lines: string[] = [];
const terminal = {
  print: (line: string) => void lines.push(line),
  stderr: { isTTY: false, columns: 80, write: (text: string) => lines.push(text) > 0 },
};
const starling = async (...args: string[]): Promise<string> => {
  lines.length = 0;
  expect(await runCommandLine(args, terminal), lines.join('\n')).toBe(0);
  return lines.join('\n');
};

/** One sub-folder for each of the four classes. */
async function writePictures(folder: string): Promise<void> {
  const { images, labels, size, count } = tinyPictures(160, 1);
  for (let i = 0; i < count; i++) {
    const plane = size * size;
    const data = Uint8Array.from(
      { length: 3 * plane },
      (_, at) => images[(i * 3 + (at % 3)) * plane + Math.floor(at / 3)] ?? 0,
    );
    const path = join(folder, `class ${labels[i]}`);
    await mkdir(path, { recursive: true });
    await writeFile(join(path, `${i}.png`), encodePng({ width: size, height: size, data }));
  }
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'starling-train-'));
  await writePictures(join(root, 'pictures'));
  const normalised = await normaliseModel(modelOf(tinyClassifier(3)), { backend: await createHeapBackend() });
  await writeFile(model(), saveModel(openBatch(normalised.model)).bytes);
});

afterAll(async () => {
  await rm(root, { recursive: true });
});

const options = ['--batch', '16', '--normalise', 'symmetric', '--backend', 'wasm', '--label-weight', '1'];

test(
  'labels alone: the network learns, every level is a plan that computes what its model computes',
  slow,
  async () => {
    const out = join(root, 'labelled');
    const text = await starling(
      ...[
        'train',
        model(),
        '--data',
        join(root, 'pictures'),
        '--out',
        out,
        '--steps',
        '150',
        '--rate',
        '0.1',
      ],
      ...['--keep', '0.25', '--levels', '0', ...options],
    );
    const curve = await readCurve(join(out, 'curve.json'));
    expect(curve?.levels.map(({ keep, keptFeatures }) => [keep, keptFeatures])).toEqual([
      [0.25, 0.25],
      [0, 0],
    ]);
    const [target, separate] = curve?.levels ?? [];
    expect(curve?.dense.accuracy).toBeLessThan(0.6);
    expect(target?.accuracy).toBeGreaterThan(0.8);
    expect(target?.exchangedBytes).toBeGreaterThan(separate?.exchangedBytes ?? 0);
    expect(target?.exchangedBytes).toBeLessThan(0.5 * (curve?.dense.exchangedBytes ?? 0));
    expect(separate?.rounds).toBeLessThan(target?.rounds ?? 0);
    expect(text).toContain('kept 0.25 (0.250 of the features): top-1 ');
    expect(await readFile(join(out, 'chart.svg'), 'utf8')).toContain('Top-1 of the settled levels');

    const level = join(out, 'kept-0.25');
    expect(await starling('verify', join(level, 'plan'), '--model', join(level, 'model.onnx'))).toMatch(
      /computes/,
    );
    const again = join(root, 'again');
    const given = ['--division', join(level, 'division.json'), '--shape', 'pictures=1x3x8x8'];
    await starling('compile', join(level, 'model.onnx'), ...given, '--out', again);
    const weights = async (folder: string) => JSON.parse(await readFile(join(folder, 'plan.json'), 'utf8'));
    const [first, second] = [await weights(join(level, 'plan')), await weights(again)];
    expect(second.weights).toEqual(first.weights);
    expect(second.supports).toEqual(first.supports);
  },
);

test('a plan is trained further from the teacher alone, rounded as it will travel', async () => {
  const plan = join(root, 'plan');
  const shape = ['--shape', 'pictures=1x3x8x8'];
  await starling('compile', model(), '--shards', '2', '--out', plan, ...shape);
  const out = join(root, 'taught');
  const data = ['--data', join(root, 'pictures'), '--out', out, '--normalise', 'symmetric'];
  const towards = ['--task', 'imitate', '--wire', 'uint8', '--keep', '0.5', '--levels', '0'];
  await starling(
    ...['train', plan, ...data, ...towards, '--steps', '60', '--batch', '16', '--backend', 'wasm'],
  );
  const curve = await readCurve(join(out, 'curve.json'));
  expect(curve?.dense).toEqual({ loss: expect.any(Number), exchangedBytes: expect.any(Number) });
  expect(curve?.levels.map(({ loss }) => typeof loss)).toEqual(['number', 'number']);
  // What came out is rounded, and no beginning for another training.
  await expect(readTrainable(join(out, 'kept-0.5', 'plan'))).rejects.toMatchObject({ code: 'USAGE' });
});

test('a sparse plan is trained further from where it is, and what it does not read stays away', async () => {
  const begun = join(root, 'labelled');
  const out = join(root, 'further');
  const data = ['--data', join(root, 'pictures'), '--out', out];
  await starling(
    ...['train', join(begun, 'kept-0.25', 'plan'), ...data, '--steps', '12', '--rate', '0.001'],
    ...['--keep', '0.25', '--levels', '', ...options],
  );
  const before = (await readCurve(join(begun, 'curve.json')))?.levels.find(({ keep }) => keep === 0.25);
  const after = await readCurve(join(out, 'curve.json'));
  expect(after?.dense.accuracy).toBeCloseTo(before?.accuracy ?? Number.NaN, 6);
  expect(after?.levels.map(({ keptFeatures }) => keptFeatures)).toEqual([0.25]);
  const supports = async (folder: string) => (await openPlanFolder(join(folder, 'kept-0.25', 'plan'))).file;
  const [first, second] = [await supports(begun), await supports(out)];
  expect([second.supports, second.partitions, second.name]).toEqual([
    first.supports,
    first.partitions,
    first.name,
  ]);
});

const run: TrainingRun = {
  name: 'model',
  objective: { type: 'classify', labelWeight: 1, smoothing: 0, teacherWeight: 0, temperature: 1 },
  steps: 48,
  batch: 16,
  size: [8, 8],
  numShards: 2,
  keep: 0.5,
  levels: [0],
  scope: 'uniform',
  owners: 'contiguous',
  wire: 'float32',
  optimiser: 'sgd',
  rate: 0.05,
  fall: 'linear',
  weightDecay: 0,
  clipNorm: 5,
  seed: 4,
};

test('a run that is interrupted, in a branch too, ends as one that is not', slow, async () => {
  const backend = await createHeapBackend();
  const trainable = await readTrainable(model());
  const prepare = preparations.symmetric;
  const source = await openTrainingSource(join(root, 'pictures'), {
    height: 8,
    width: 8,
    fit: 'cover',
    prepare,
  });
  const train = async (path: string, stopAt: number) => {
    const stop = new AbortController();
    const folder = await openTrainingFolder(path, { seed: run.seed });
    return runTrainingFolder(trainable, undefined, run, source, backend, folder, {
      signal: stop.signal,
      onLine: ({ step }) => {
        if (step >= stopAt) stop.abort();
      },
    });
  };
  await train(join(root, 'whole'), Number.POSITIVE_INFINITY);
  const parts = join(root, 'parts');
  expect((await train(parts, 20)).aborted).toBe(true);
  expect((await train(parts, 40)).aborted).toBe(true);
  expect((await openPlanFolder(join(parts, stoppedLevel, 'plan'))).file.numShards).toBe(2);
  const last = await train(parts, Number.POSITIVE_INFINITY);
  expect(last).toMatchObject({ aborted: false, step: 48 });
  const levels = ['kept-0.5', 'kept-0'].map((level) => join(level, 'model.onnx'));
  for (const file of levels) {
    const [whole, resumed] = await Promise.all(
      ['whole', 'parts'].map((of) => readFile(join(root, of, file))),
    );
    expect(resumed?.equals(whole ?? new Uint8Array())).toBe(true);
    expect(loadModel(new Uint8Array(resumed ?? [])).graph.nodes.length).toBeGreaterThan(0);
  }
});
