/** Reads the files in bench/results and writes tables of Markdown; what they say is readmeFigures.ts'. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

export type Row = readonly (string | number)[];

export function markdownTable(head: Row, rows: readonly Row[]): string {
  const line = (cells: Row) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Undefined where there is no such file. */
export function readResult<T>(name: string): T | undefined {
  const path = join(root, 'bench/results', name);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as T) : undefined;
}
