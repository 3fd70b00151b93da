import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCommandLine } from './runCommandLine.ts';
import { openTrainingFolder } from './trainingFolder.ts';

const folders: string[] = [];

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'starling-training-'));
  folders.push(folder);
  return folder;
}

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

const settings = { steps: 10, rate: 0.1 };
const evaluation = (step: number) => ({ type: 'evaluation', step, accuracy: step / 100 }) as const;

test('a folder is opened again with its settings, and refuses others by name', async () => {
  const path = await newFolder();
  const folder = await openTrainingFolder(path, settings);
  await folder.save('latest', Uint8Array.of(1));
  await openTrainingFolder(path, settings);
  await expect(openTrainingFolder(path, { ...settings, rate: 0.2 })).rejects.toThrow(
    /rate 0.1, this one has 0.2/,
  );
  await expect(openTrainingFolder(path, { ...settings, seed: 3 })).rejects.toThrow(/seed unset/);
});

test('a run that has trained nothing yet gives way to other settings, with what it prepared', async () => {
  const path = await newFolder();
  const first = await openTrainingFolder(path, settings);
  await writeFile(first.path('division.json'), '{}');
  await openTrainingFolder(path, settings);
  expect(existsSync(first.path('division.json'))).toBe(true);
  const second = await openTrainingFolder(path, { ...settings, rate: 0.2 });
  expect(existsSync(second.path('division.json'))).toBe(false);
  await second.save('latest', Uint8Array.of(1));
  await expect(openTrainingFolder(path, settings)).rejects.toThrow(/rate 0.2, this one has 0.1/);
});

test('another teacher is refused; a run from before teachers were written down goes on', async () => {
  const path = await newFolder();
  await (await openTrainingFolder(path, settings)).save('latest', Uint8Array.of(1));
  await openTrainingFolder(path, { ...settings, teacher: 'a' });
  const taught = await newFolder();
  await (await openTrainingFolder(taught, { ...settings, teacher: 'a' })).save('latest', Uint8Array.of(1));
  await expect(openTrainingFolder(taught, { ...settings, teacher: 'b' })).rejects.toThrow(/teacher a/);
});

test('the log is cut back to the checkpoint, a torn last line included', async () => {
  const folder = await openTrainingFolder(await newFolder(), settings);
  expect(await folder.rewindLog(0)).toEqual([]);
  for (const step of [10, 20, 30]) await folder.log(evaluation(step));
  await appendFile(folder.path('log.jsonl'), '{"type":"evaluation","st');
  expect(await folder.rewindLog(20)).toEqual([evaluation(10), evaluation(20)]);
  await folder.log(evaluation(25));
  expect(await folder.rewindLog(100)).toEqual([evaluation(10), evaluation(20), evaluation(25)]);
});

test('checkpoints come back by name', async () => {
  const folder = await openTrainingFolder(await newFolder(), settings);
  expect(await folder.checkpoint('best')).toBeUndefined();
  await folder.save('best', Uint8Array.of(1, 2, 3));
  expect(await folder.checkpoint('best')).toEqual(Uint8Array.of(1, 2, 3));
  expect(await folder.checkpoint('latest')).toBeUndefined();
});

test.each([
  [['--keep', '2'], /--keep to be a number from 0 to 1/],
  [['--steps', 'many'], /--steps to be a whole number/],
  [['--scope', 'local'], /--scope uniform, global/],
  [['--task', 'guess'], /--task classify, segment/],
])('starling train refuses %j in one line', async (wrong, message) => {
  const lines: string[] = [];
  const terminal = {
    print: (line: string) => void lines.push(line),
    stderr: { isTTY: false, columns: 80, write: (text: string) => lines.push(text) > 0 },
  };
  const args = ['train', 'missing.onnx', '--data', 'cifar10', '--out', await newFolder(), ...wrong];
  expect(await runCommandLine(args, terminal)).toBe(2);
  expect(lines[0]).toMatch(/^USAGE: /);
  expect(lines[0]).toMatch(message);
});
