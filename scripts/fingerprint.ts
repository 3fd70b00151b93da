/** Whether something that was made from files is still what these files would give: a hash of them, kept beside it. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** SHA-256 over names and contents of files and folders (what is missing counts as missing) and over `texts`. */
export async function fingerprint(paths: readonly string[], texts: readonly string[] = []): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(texts));
  for (const path of paths) {
    for (const file of await filesBelow(path)) {
      const content = await readFile(file);
      hash.update(JSON.stringify([file, content.length])).update(content);
    }
  }
  return hash.digest('hex');
}

export function isUpToDate(stampPath: string, print: string): boolean {
  return existsSync(stampPath) && readFileSync(stampPath, 'utf8') === print;
}

export async function writeStamp(stampPath: string, print: string): Promise<void> {
  await mkdir(dirname(stampPath), { recursive: true });
  await writeFile(stampPath, print);
}

async function filesBelow(path: string): Promise<string[]> {
  if (!existsSync(path)) return [];
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [path];
  const below = entries
    .filter((entry) => !entry.name.endsWith('.test.ts'))
    .map((entry) => (entry.isDirectory() ? filesBelow(join(path, entry.name)) : [join(path, entry.name)]));
  return (await Promise.all(below)).flat().sort();
}
