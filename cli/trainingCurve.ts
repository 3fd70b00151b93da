/** curve.json of a training's folder: the dense model's figure, and each level's as it is settled. */
import { existsSync } from 'node:fs';
import * as v from 'valibot';
import type { EvaluationResult } from '../compiler/train/trainerTypes.ts';
import { StarlingError } from '../protocol/errors.ts';
import { readJson, writeBytes } from './files.ts';

/** On the test part where the data has one, else on what was held out. */
const figures = { accuracy: v.optional(v.number()), loss: v.optional(v.number()) };

const levelSchema = v.object({
  keep: v.number(),
  keptFeatures: v.number(),
  keptElements: v.number(),
  ...figures,
  rounds: v.number(),
  exchangedBytes: v.number(),
  /** Steps of the course when it was settled, and seconds of training until then. */
  step: v.number(),
  seconds: v.number(),
});
const curveSchema = v.object({
  /** What training began with, undivided; and what its division exchanges when nothing is thinned, as float32. */
  dense: v.object({ ...figures, exchangedBytes: v.optional(v.number()) }),
  /** Where a plan is trained on: of the model whose answers it imitates. */
  teacher: v.optional(v.object({ accuracy: v.number() })),
  levels: v.array(levelSchema),
});

export type LevelResult = Readonly<v.InferInput<typeof levelSchema>>;
export type CurveFile = v.InferOutput<typeof curveSchema>;

export interface Curve {
  /** Measured once. `exchangedBytes`: of one sample, dense. */
  dense(exchangedBytes: number, measure: () => Promise<EvaluationResult>): Promise<EvaluationResult>;
  /** Share it classifies correctly, measured once; undefined without labels. */
  teacher(measure: () => Promise<number | undefined>): Promise<void>;
  add(level: LevelResult): Promise<void>;
  /** From the most that is kept to the least. */
  levels(): readonly LevelResult[];
}

/** Throws FILE_UNREADABLE. */
export async function readCurve(path: string): Promise<CurveFile | undefined> {
  if (!existsSync(path)) return undefined;
  const parsed = v.safeParse(curveSchema, await readJson(path));
  if (parsed.success) return parsed.output;
  throw new StarlingError('FILE_UNREADABLE', `${path} is damaged: ${parsed.issues[0].message}.`);
}

/** Throws FILE_UNREADABLE. */
export async function openCurve(path: string): Promise<Curve> {
  const known = await readCurve(path);
  let dense: CurveFile['dense'] | undefined = known?.dense;
  let teacher: CurveFile['teacher'] = known?.teacher;
  const levels = new Map<number, LevelResult>((known?.levels ?? []).map((level) => [level.keep, level]));
  const sorted = (): LevelResult[] => [...levels.values()].sort((a, b) => b.keep - a.keep);
  const write = () =>
    writeBytes(path, `${JSON.stringify({ dense: dense ?? {}, teacher, levels: sorted() }, null, 2)}\n`);
  return {
    async dense(exchangedBytes, measure) {
      dense = { ...(dense ?? (await measure())), exchangedBytes };
      await write();
      return dense;
    },
    async teacher(measure) {
      if (teacher !== undefined) return;
      const accuracy = await measure();
      if (accuracy === undefined) return;
      teacher = { accuracy };
      await write();
    },
    async add(level) {
      levels.set(level.keep, level);
      await write();
    },
    levels: sorted,
  };
}
