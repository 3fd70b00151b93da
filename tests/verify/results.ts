/** The file of results: read, resumed where the code is still the same, written one entry a line. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EntryResult } from './verifyEntry.ts';

interface Named {
  readonly name: string;
  readonly passed: boolean;
}

export type Measured =
  | (Named & { readonly kind: 'division' } & EntryResult)
  | (Named & { readonly kind: 'control'; readonly relativeError: number })
  | (Named & { readonly kind: 'error'; readonly error: string });

export type Entry = Measured & {
  readonly seconds: number;
  /** That was measured, and when. */
  readonly commit: string;
  readonly date: string;
};

export interface Results {
  readonly tolerance: number;
  readonly entries: readonly Entry[];
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** What the figures depend on. A change elsewhere leaves them as they are. */
const sources = ['graph', 'compiler', 'runtime', 'backends', 'protocol', 'tests/verify', 'tests/support'];

function git(...args: string[]): { ok: boolean; out: string } {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return { ok: status === 0, out: stdout.trim() };
}

export function currentCommit(): string {
  return git('rev-parse', 'HEAD').out;
}

export function readResults(path: string): readonly Entry[] {
  if (!existsSync(path)) return [];
  return (JSON.parse(readFileSync(path, 'utf8')) as Results).entries;
}

/** Those that were measured on the code as it is now. */
export function upToDate(entries: readonly Entry[]): readonly Entry[] {
  const commits = [...new Set(entries.map(({ commit }) => commit))];
  const same = new Set(commits.filter((commit) => git('diff', '--quiet', commit, '--', ...sources).ok));
  return entries.filter(({ commit }) => same.has(commit));
}

export function writeResults(path: string, { entries, ...head }: Results): void {
  const lines = entries.map((entry) => `    ${JSON.stringify(rounded(entry))}`).join(',\n');
  const start = JSON.stringify(head, null, 2).slice(0, -2);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.partial`, `${start},\n  "entries": [\n${lines}\n  ]\n}\n`);
  renameSync(`${path}.partial`, path);
}

/** JSON has no infinity; errors need three digits. */
function rounded(entry: Entry): object {
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => {
      if (typeof value !== 'number' || Number.isInteger(value)) return [key, value];
      return [key, Number.isFinite(value) ? Number(value.toPrecision(3)) : String(value)];
    }),
  );
}
