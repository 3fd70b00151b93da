/** The files in bench/results, and what their figures look like in a table. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../bench/results/', import.meta.url));

/** Undefined where the file has not been made. */
export function readResult<T>(name: string): T | undefined {
  const path = join(folder, name);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as T) : undefined;
}

/** What the README says of a file in one line. */
export interface Headline {
  readonly what: string;
  readonly figure: string;
}

export type Row = readonly (string | number)[];

export function markdownTable(head: Row, rows: readonly Row[]): string {
  const line = (cells: Row) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Day and commits that results come from. */
export function origins(results: readonly { readonly commit: string; readonly date: string }[]): string {
  const commits = [...new Set(results.map(({ commit }) => commit.slice(0, 7)))];
  const days = [...new Set(results.map(({ date }) => date.slice(0, 10)))];
  return `${days.join(', ')}, commit ${commits.join(', ')}`;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** Of a title like "resnet20 at 32 x 32, dense" the network. */
export function networkOf(title: string): string {
  return title.split(' at ')[0] ?? title;
}

export function quality(value: number, unit: '%' | 'dB'): string {
  return unit === '%' ? `${(100 * value).toFixed(2)} %` : `${value.toFixed(2)} dB`;
}

export function short(value: number | undefined): string {
  return value === undefined ? '' : String(Number(value.toFixed(4)));
}
