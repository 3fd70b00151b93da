/** Reading and writing files for the commands, with errors that say which file and what to do. No formats. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type ErrorCode, StarlingError } from '../protocol/errors.ts';

/** Throws StarlingError with `missing` where there is no such file, FILE_UNREADABLE otherwise. */
export async function readBytes(path: string, missing: ErrorCode = 'FILE_UNREADABLE'): Promise<Uint8Array> {
  try {
    return bytesOf(await readFile(path));
  } catch (thrown) {
    throw readError(thrown, path, missing);
  }
}

/** Parsed JSON. `unreadable` is the code for a file that is not JSON. */
export async function readJson(
  path: string,
  missing: ErrorCode = 'FILE_UNREADABLE',
  unreadable: ErrorCode = 'FILE_UNREADABLE',
): Promise<unknown> {
  const bytes = await readBytes(path, missing);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (thrown) {
    throw new StarlingError(unreadable, `${path} is not JSON.`, { cause: thrown });
  }
}

/**
 * Writes the whole file or nothing: a reader never sees half of it. Makes the folder where it is missing.
 * Throws StarlingError FILE_UNWRITABLE.
 */
export async function writeBytes(path: string, data: Uint8Array | string): Promise<void> {
  const partial = `${path}.${process.pid}.partial`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(partial, data);
    await rename(partial, path);
  } catch (thrown) {
    await rm(partial, { force: true }).catch(() => undefined);
    throw StarlingError.from(thrown, 'FILE_UNWRITABLE', `${path} cannot be written`);
  }
}

function bytesOf(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/** Which file it was, and what is wrong with it. */
export function readError(thrown: unknown, path: string, missing: ErrorCode): StarlingError {
  const code = systemCode(thrown);
  if (code === 'ENOENT') return new StarlingError(missing, `${path} does not exist.`, { cause: thrown });
  if (code === 'EISDIR') {
    return new StarlingError('FILE_UNREADABLE', `${path} is a folder; a file is expected.`, {
      cause: thrown,
    });
  }
  return StarlingError.from(thrown, 'FILE_UNREADABLE', path);
}

function systemCode(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}
