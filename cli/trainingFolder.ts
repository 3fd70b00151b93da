/** The folder of a training run: settings, checkpoints, log and results, so that the same command resumes it. */
import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import type { LogLine } from '../compiler/train/loop.ts';
import { StarlingError } from '../protocol/errors.ts';
import { readBytes, readJson, writeBytes } from './files.ts';

export type TrainingSettings = Readonly<Record<string, string | number>>;

export interface TrainingFolder {
  path(file: string): string;
  /** Undefined where there is none yet. */
  checkpoint(name: string): Promise<Uint8Array | undefined>;
  save(name: string, bytes: Uint8Array): Promise<void>;
  log(line: LogLine): Promise<void>;
  /** Drops what was logged after a step (the run stopped before its next checkpoint) and returns the rest. */
  rewindLog(step: number): Promise<readonly LoggedLine[]>;
}

/** What every line of a log has; the others are kept as they are. */
const lineSchema = v.looseObject({
  type: v.picklist(['train', 'evaluation']),
  step: v.number(),
  accuracy: v.optional(v.number()),
  loss: v.optional(v.number()),
  secondsPerStep: v.optional(v.number()),
});

export type LoggedLine = v.InferOutput<typeof lineSchema>;

/** What a run writes before its first step. */
const prepared = ['division.json', 'curve.json', 'log.jsonl'];

/**
 * Throws USAGE where the folder holds a run with other settings. One that has no checkpoint has trained nothing that
 * other settings could spoil: it failed before, and begins anew.
 */
export async function openTrainingFolder(
  folder: string,
  settings: TrainingSettings,
): Promise<TrainingFolder> {
  const path = (file: string): string => join(folder, file);
  const saved = existsSync(path('settings.json')) ? await readJson(path('settings.json')) : undefined;
  const other = saved === undefined ? undefined : firstOther(settings, saved);
  if (other !== undefined && existsSync(path('latest.safetensors'))) {
    throw new StarlingError(
      'USAGE',
      `${folder} holds a run with ${other}: give the same settings to resume it, or another --out.`,
    );
  }
  if (other !== undefined) for (const file of prepared) await rm(path(file), { force: true });
  if (saved === undefined || other !== undefined) {
    await writeBytes(path('settings.json'), `${JSON.stringify(settings, null, 2)}\n`);
  }
  return {
    path,
    async checkpoint(name) {
      const file = path(`${name}.safetensors`);
      return existsSync(file) ? readBytes(file) : undefined;
    },
    save: (name, bytes) => writeBytes(path(`${name}.safetensors`), bytes),
    async log(line) {
      await appendFile(path('log.jsonl'), `${JSON.stringify(line)}\n`);
    },
    async rewindLog(step) {
      if (!existsSync(path('log.jsonl'))) return [];
      const kept = (await readLog(path('log.jsonl'))).filter((line) => line.step <= step);
      await writeBytes(path('log.jsonl'), kept.map((line) => `${JSON.stringify(line)}\n`).join(''));
      return kept;
    },
  };
}

/** Lines of a log, none where there is no file yet. */
export async function readLog(path: string): Promise<readonly LoggedLine[]> {
  if (!existsSync(path)) return [];
  return new TextDecoder()
    .decode(await readBytes(path))
    .split('\n')
    .flatMap(parseLine);
}

/** A last line may be cut off where the machine stopped. */
function parseLine(text: string): LoggedLine[] {
  try {
    const line: unknown = JSON.parse(text);
    return v.is(lineSchema, line) ? [line] : [];
  } catch {
    return [];
  }
}

/** Settings that runs have written down only since there was such a setting; without it they go on. */
const younger = new Set(['teacher']);

/** Says which setting is not the same, and how. */
function firstOther(settings: TrainingSettings, saved: unknown): string | undefined {
  const before = v.is(v.record(v.string(), v.union([v.string(), v.number()])), saved) ? saved : {};
  const names = new Set([...Object.keys(settings), ...Object.keys(before)]);
  const other = [...names].find(
    (name) => settings[name] !== before[name] && !(younger.has(name) && before[name] === undefined),
  );
  return other === undefined
    ? undefined
    : `${other} ${before[other] ?? 'unset'}, this one has ${settings[other] ?? 'none'}`;
}
