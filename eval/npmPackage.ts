/** Fetches the files of an npm package, pinned by its hash, without installing it or running its scripts. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StarlingError } from '../protocol/errors.ts';
import { cachePath } from './cacheDir.ts';

const run = promisify(execFile);

export interface NpmPackage {
  readonly name: string;
  /** Exact. */
  readonly version: string;
  /** `sha512-...` of the archive, as in a lockfile. */
  readonly integrity: string;
}

/**
 * The folder that holds the package's files, fetched once into the cache. Throws StarlingError PACKAGE_UNREACHABLE
 * where npm cannot get it, HASH_MISMATCH where it got something else.
 */
export async function fetchNpmPackage(wanted: NpmPackage): Promise<string> {
  const label = `${wanted.name.replaceAll(/[^a-z0-9-]/g, '_')}-${wanted.version}`;
  const folder = cachePath(`packages/${label}`);
  if (existsSync(folder)) return folder;
  // Two processes may fetch at once: each works in a folder of its own, the first to finish wins.
  const work = cachePath(`packages/.${label}.${process.pid}`);
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  try {
    await unpack(wanted, work);
    await rename(join(work, 'package'), folder).catch((thrown: unknown) => {
      if (!existsSync(folder)) throw thrown;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

async function unpack(wanted: NpmPackage, folder: string): Promise<void> {
  const label = `${wanted.name}@${wanted.version}`;
  try {
    await run('npm', ['pack', label, '--ignore-scripts', '--silent', '--fetch-retries=1'], { cwd: folder });
  } catch (thrown) {
    throw new StarlingError(
      'PACKAGE_UNREACHABLE',
      `npm could not fetch ${label}; connect this machine to the npm registry (or set npm's registry or proxy) and try again.`,
      { cause: thrown },
    );
  }
  const archive = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  if (archive === undefined)
    throw new StarlingError('PACKAGE_UNREACHABLE', `npm wrote no archive of ${label}.`);
  const hash = createHash('sha512');
  for await (const chunk of createReadStream(join(folder, archive))) hash.update(chunk);
  const got = `sha512-${hash.digest('base64')}`;
  if (got !== wanted.integrity) {
    throw new StarlingError(
      'HASH_MISMATCH',
      `${label} is expected to have the hash ${wanted.integrity}, got ${got}; it was not used.`,
    );
  }
  await run('tar', ['-xzf', archive], { cwd: folder });
}
