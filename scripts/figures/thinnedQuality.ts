/** What the thinned plan of a bench still gets right: bench/results/wire-MODEL-2shards.json beside tasks.json. */
import { sparseKeep } from '../../bench/scenarios.ts';
import { readResult } from './results.ts';

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

interface TaskResult {
  readonly name: string;
  readonly original: Readonly<Record<string, number>>;
}

/** Undefined where it was not measured. */
export function thinnedQuality(model: string): string | undefined {
  const file = readResult<WireFile>(`wire-${model}-2shards.json`);
  const point = file?.points.find(
    ({ keep, wire, scalePer }) => keep === sparseKeep && wire === 'uint8' && scalePer === 'feature',
  );
  if (file === undefined || point === undefined) return undefined;
  const { figure, unit, measuredOn } = file;
  const tasks = readResult<readonly TaskResult[]>('tasks.json') ?? [];
  const original = tasks.find(({ name }) => name.startsWith(model))?.original[figure];
  const text = (value: number) => (unit === '%' ? `${(100 * value).toFixed(1)} %` : `${value.toFixed(2)} dB`);
  return `${text(point.quality)}${original === undefined ? '' : ` of ${text(original)}`} on ${measuredOn}`;
}
