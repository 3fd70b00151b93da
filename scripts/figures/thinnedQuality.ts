/** What the thinned plan of a bench still gets right: bench/results/wire-MODEL-2shards.json beside tasks.json. */
import { quality, readResult } from './results.ts';
import type { TaskResult } from './tasks.ts';

interface WireFile {
  readonly figure: string;
  readonly unit: '%' | 'dB';
  readonly measuredOn: string;
  readonly points: readonly {
    readonly keep: number;
    readonly wire: string;
    readonly scalePer: string;
    readonly quality: number;
  }[];
}

/** Of the plan that keeps so much of a dense exchange; undefined where it was not measured. */
export function thinnedQuality(model: string, kept: number | undefined): string | undefined {
  const file = readResult<WireFile>(`wire-${model}-2shards.json`);
  const point = file?.points.find(
    ({ keep, wire, scalePer }) => keep === kept && wire === 'uint8' && scalePer === 'feature',
  );
  if (file === undefined || point === undefined) return undefined;
  const { figure, unit, measuredOn } = file;
  const tasks = readResult<readonly TaskResult[]>('tasks.json') ?? [];
  const original = tasks.find(({ name }) => name.startsWith(model))?.original[figure];
  return `${quality(point.quality, unit)}${original === undefined ? '' : ` of ${quality(original, unit)}`} on ${measuredOn}`;
}
