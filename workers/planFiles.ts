/** A plan's files over HTTP, weights kept in the browser's cache under their hash where there is a secure context. */
import { StarlingError } from '../protocol/errors.ts';
import { checkHash } from '../runtime/plan.ts';
import { cachedFile, keepFile, type PlanFile } from './weightCache.ts';

export type FileProgress = (loadedBytes: number) => void;

/** Throws PLAN_NOT_FOUND. `onBytes` is called with the bytes loaded so far. */
export async function fetchBytes(url: string, onBytes?: FileProgress): Promise<Uint8Array> {
  let response: Response;
  try {
    response = await fetch(url);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StarlingError(
      'PLAN_NOT_FOUND',
      `Could not fetch ${url} (${reason}); check the address and that its server allows this page.`,
    );
  }
  if (!response.ok || response.body === null) {
    throw new StarlingError(
      'PLAN_NOT_FOUND',
      `Could not fetch ${url}: the server answered ${response.status}; check the address.`,
    );
  }
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    length += value.byteLength;
    onBytes?.(length);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.byteLength;
  }
  return bytes;
}

/** A weight file by its hash: from the cache, else fetched, checked and kept. Throws PLAN_NOT_FOUND or HASH_MISMATCH. */
async function weightFile(base: string, file: PlanFile, onBytes?: FileProgress): Promise<Uint8Array> {
  const held = await cachedFile(file);
  if (held !== undefined) {
    onBytes?.(held.byteLength);
    return held;
  }
  const bytes = await fetchBytes(new URL(file.path, base).href, onBytes);
  checkHash(file.path, bytes, file.sha256);
  await keepFile(file, bytes);
  return bytes;
}

/** The files of a plan, wherever they come from. */
export interface PlanFiles {
  /** One of plan.json and the graph; `plan.json` is checked by whoever opens it. */
  read(path: string): Promise<Uint8Array>;
  /** Throws PLAN_NOT_FOUND or HASH_MISMATCH. */
  weights(file: PlanFile, onBytes: FileProgress): Promise<Uint8Array>;
}

/** Those of a plan on a server, by the address of its plan.json. */
export function servedFiles(url: string): PlanFiles {
  const base = new URL('.', url).href;
  return {
    read: (path) => fetchBytes(path === 'plan.json' ? url : new URL(path, base).href),
    weights: (file, onBytes) => weightFile(url, file, onBytes),
  };
}
