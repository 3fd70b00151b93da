/** A plan's files over HTTP, weights kept in the browser's cache under their hash where there is a secure context. */
import { StarlingError } from '../protocol/errors.ts';
import { checkHash } from '../runtime/plan.ts';

const cacheName = 'starling-weights-1';

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

export interface PlanFile {
  readonly path: string;
  readonly sha256: string;
}

/** The cache is only a convenience: whatever it refuses (private windows, quotas) is fetched. */
async function openCache(): Promise<Cache | null> {
  try {
    return typeof caches === 'undefined' ? null : await caches.open(cacheName);
  } catch {
    return null;
  }
}

/** A weight file by its hash: from the cache, else fetched, checked and kept. Throws PLAN_NOT_FOUND or HASH_MISMATCH. */
export async function weightFile(base: string, file: PlanFile, onBytes?: FileProgress): Promise<Uint8Array> {
  const cache = await openCache();
  const key = `https://starling.invalid/weights/${file.sha256}`;
  const held = await cache?.match(key);
  if (held !== undefined) {
    const bytes = new Uint8Array(await held.arrayBuffer());
    try {
      checkHash(file.path, bytes, file.sha256);
      onBytes?.(bytes.byteLength);
      return bytes;
    } catch {
      await cache?.delete(key);
    }
  }
  const bytes = await fetchBytes(new URL(file.path, base).href, onBytes);
  checkHash(file.path, bytes, file.sha256);
  try {
    await cache?.put(key, new Response(bytes.slice()));
  } catch {
    // Full: the next visit fetches again.
  }
  return bytes;
}
