/** `starling eval` through the shards gives the original's figures; on a few pictures: `npm run eval:all` takes all. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { starling } from '../support/commandLine.ts';
import { hasShared, sharedFolder } from '../support/shared.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'starling-eval-'));
});
afterAll(() => rm(folder, { recursive: true }));

const modelPath = (name: string) => `${sharedFolder}models/${name}.onnx`;
const data = (name: string) => (name === 'cifar10' ? name : `${sharedFolder}data/${name}`);

async function compiled(model: string, ...options: string[]): Promise<string> {
  const plan = join(folder, [model, ...options].join('-'));
  const { code, err } = await starling('compile', modelPath(model), '--out', plan, ...options);
  expect(code, err).toBe(0);
  return plan;
}

interface Case {
  readonly task: string;
  readonly model: string;
  readonly data: string;
  readonly limit: number;
  readonly compile: readonly string[];
  /** The figure that is asked for, and what the original reaches on so many pictures. */
  readonly figure: readonly [name: string, value: number, digits: number];
}

const square = ['--shape', 'input=1x3x64x64'];
const cases: readonly Case[] = [
  { task: 'classification', model: 'resnet20-cifar10', data: 'cifar10', limit: 100, compile: ['--shards', '4'], figure: ['top1', 0.94, 6] },
  { task: 'classification', model: 'mobilenet-v1-0.25-imagenet', data: 'imagenet-samples', limit: 20, compile: ['--shards', '2', '--axis', 'rows'], figure: ['top1', 0.6, 6] },
  { task: 'detection', model: 'yolox-nano-coco', data: 'voc100', limit: 3, compile: ['--shards', '2', '--axis', 'rows'], figure: ['mAP50', 0.93, 3] },
  { task: 'segmentation', model: 'espnet-camvid', data: 'camvid', limit: 2, compile: ['--shards', '2', '--axis', 'rows'], figure: ['meanIoU', 0.607, 3] },
  // 128 x 128 and 72 x 72: neither is the plan's size.
  { task: 'super-resolution', model: 'esrgan-slim-x4', data: 'set5', limit: 2, compile: ['--shards', '3', ...square], figure: ['psnrY', 31.018, 2] },
]; // biome-ignore format: one case a line

describe.skipIf(!hasShared)('starling eval', () => {
  it.each(cases)('$task of $model on $limit pictures', { timeout: 120_000 }, async (one) => {
    const plan = await compiled(one.model, ...one.compile);
    const { code, out, err } = await starling(
      'eval', plan, '--task', one.task, '--data', data(one.data), '--model', modelPath(one.model),
      '--limit', String(one.limit), '--json',
    ); // biome-ignore format: a command line
    if (err.startsWith('PACKAGE_UNREACHABLE')) return console.warn(`Skipped: ${err}`);
    expect(code, err).toBe(0);
    const result = JSON.parse(out);
    const [figure, value, digits] = one.figure;
    expect(result.figures[figure]).toBeCloseTo(value, digits);
    expect(result.original[figure]).toBeCloseTo(result.figures[figure], 3);
    expect(result.agreement).toBeGreaterThan(0.9999);
    expect(result.count).toBe(one.limit);
    expect(result.rounds).toBeGreaterThan(0);
  });

  it('refuses what it cannot evaluate in one line', { timeout: 60_000 }, async () => {
    const plan = await compiled('espcn-x3', '--shards', '2', '--shape', 'input=1x1x24x20');
    const refusals: readonly (readonly [string[], number, RegExp])[] = [
      [['--task', 'singing'], 2, /^USAGE: Expected --task classification, .*"singing"/],
      [['--task', 'detection', '--data', 'x'], 1, /^INPUT_INVALID: .*square/],
      [['--task', 'segmentation'], 2, /^USAGE: --data is missing/],
      [['--task', 'super-resolution', '--data', join(folder, 'none')], 1, /^FILE_UNREADABLE: .*none/],
      [['--task', 'super-resolution', '--data', data('set5')], 1, /^INPUT_INVALID: .*3x128x128.*--model/],
      [['--task', 'classification', '--limit', 'few'], 2, /^USAGE: Expected --limit/],
    ];
    for (const [args, expected, message] of refusals) {
      const { code, out, err } = await starling('eval', plan, ...args);
      expect([code, out], err).toEqual([expected, '']);
      expect(err).toMatch(message);
      expect(err).not.toMatch(/\bat .*:\d+:\d+/);
    }
  });
});
