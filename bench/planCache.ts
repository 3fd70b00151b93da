/**
 * Keeps plans that take minutes to make, for as long as what makes them stays as it is in the repository. Where that has
 * been changed and not committed, nothing is kept.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachePath } from '../eval/cacheDir.ts';
import { sha256Hex } from '../protocol/sha256.ts';

type Files = ReadonlyMap<string, Uint8Array>;

const makers = [
  'backends',
  'compiler',
  'eval',
  'graph',
  'runtime',
  'cli/calibrationData.ts',
  'bench/models.ts',
];
const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' });

function makersHash(): string | undefined {
  try {
    if (git('status', '--porcelain', '--', ...makers) !== '') return undefined;
    return sha256Hex(Buffer.from(git('ls-tree', 'HEAD', '--', ...makers))).slice(0, 16);
  } catch {
    return undefined;
  }
}

export async function keptPlan(name: string, make: () => Promise<Files>): Promise<Files> {
  const hash = makersHash();
  if (hash === undefined) return make();
  const folder = join(cachePath('bench-plans'), `${name}-${hash}`);
  const names = await readdir(folder).catch(() => []);
  if (names.length > 0) {
    return new Map(
      await Promise.all(names.map(async (file) => [file, await readFile(join(folder, file))] as const)),
    );
  }
  const files = await make();
  // Whole or not at all, whatever ends this process meanwhile.
  const unfinished = `${folder}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  for (const [file, bytes] of files) await writeFile(join(unfinished, file), bytes);
  await rename(unfinished, folder);
  return files;
}
