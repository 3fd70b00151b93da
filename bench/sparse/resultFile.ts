/** The file of a sparse curve's points: read, added to, written whole after each, one point a line. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SelectionName } from '../../compiler/chooseBest.ts';
import type { Cost, Point } from './measureRow.ts';

export type Selection = 'budget' | 'uniform';

export interface Row extends Point {
  readonly model: string;
  readonly shards: number;
  readonly selection: Selection;
  readonly keep: number;
  /** Which of the selections that the budget bought was judged best; absent in points of before it was noted. */
  readonly chosenBy?: SelectionName;
  readonly figure: string;
  readonly unit: '%' | 'dB';
  /** Pictures that gave the figure, and samples that the weights were adjusted to. */
  readonly pictures: number;
  readonly calibrationSamples: number;
  /** Rows of least squares per contraction, at most. */
  readonly rows: number;
  readonly calibratedOn: string;
  readonly measuredOn: string;
  readonly denseQuality: number;
  readonly denseCost: Cost;
  /** Processor time of selecting, adjusting and measuring this point. */
  readonly cpuSeconds: number;
  readonly backend: string;
  readonly commit: string;
  readonly date: string;
}

export type RowName = Pick<Row, 'model' | 'shards' | 'selection' | 'keep'>;

export function rowKey({ model, shards, selection, keep }: RowName): string {
  return `${model} ${shards} ${selection} ${keep}`;
}

export function readRows(path: string): Row[] {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Row[]) : [];
}

export function writeRows(path: string, rows: readonly Row[]): void {
  mkdirSync(dirname(path), { recursive: true });
  // A file that is read or committed meanwhile is always whole.
  writeFileSync(`${path}.part`, `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`);
  renameSync(`${path}.part`, path);
}
