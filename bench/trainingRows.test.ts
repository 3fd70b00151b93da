import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { trainingJobs } from './trainingJobs.ts';
import { collect, isComplete, readRows } from './trainingRows.ts';

let root = '';

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'starling-rows-'));
});

afterAll(async () => {
  await rm(root, { recursive: true });
});

const level = (keep: number, step: number) => ({
  keep,
  keptFeatures: keep,
  keptElements: keep,
  accuracy: 0.8 + keep / 10,
  rounds: 3,
  exchangedBytes: 1000 * keep,
  step,
  seconds: 7 * step,
});

async function writeRun(levels: readonly ReturnType<typeof level>[], step: number): Promise<void> {
  const settings = {
    keep: 0.2,
    levels: '0',
    steps: 100,
    seed: 5,
    numShards: 2,
    wire: 'float32',
    data: '/anywhere/shared/data/pictures',
  };
  await writeFile(join(root, 'settings.json'), JSON.stringify(settings));
  await writeFile(join(root, 'curve.json'), JSON.stringify({ dense: { accuracy: 0.9 }, levels }));
  await writeFile(
    join(root, 'log.jsonl'),
    `${JSON.stringify({ type: 'evaluation', step, accuracy: 0.5 })}\n`,
  );
}

test('a row tells what is settled so far; a run is over when every level is', async () => {
  await writeRun([], 20);
  expect(await collect('a', root, 'c0', root)).toBeUndefined();
  await writeRun([level(0.2, 50)], 60);
  const half = await collect('a', root, 'c1', root);
  expect(half).toMatchObject({ step: 60, steps: 100, seed: 5, seconds: 350, commit: 'c1' });
  expect(half?.settings['data']).toBe('data/pictures');
  expect(isComplete(half)).toBe(false);
  await writeRun([level(0.2, 50), level(0, 100)], 100);
  const whole = await collect('a', root, 'c2', root);
  expect(isComplete(whole)).toBe(true);
  // Nothing has changed: the commit that measured it stays.
  expect(await collect('a', root, 'c3', root)).toMatchObject({ commit: 'c2' });
  expect(readRows(root).map(({ name, commit }) => [name, commit])).toEqual([['a', 'c2']]);
  expect(await readFile(join(root, 'training', 'a.svg'), 'utf8')).toMatch(/^<svg.*Top-1/);
});

test('the queue has a folder for each job, in the order of the issue', () => {
  const jobs = trainingJobs({ folder: 'all', model: (name) => name, data: (name) => name, common: [] });
  const names = jobs.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.slice(0, 3)).toEqual([
    'resnet20-2-seed1',
    'resnet20-2-seed1-further',
    'cifar10-residual/dense',
  ]);
  for (const { name, commands } of jobs) {
    const [train = []] = commands;
    expect(train[0]).toBe('train');
    expect(train[train.indexOf('--out') + 1]).toBe(join('all', name));
  }
});
