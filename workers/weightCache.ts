/** The browser's cache of plan files, under their hash, where there is a secure context. Not where they come from. */
import { checkHash } from '../runtime/plan.ts';

const cacheName = 'starling-weights-1';

export interface PlanFile {
  readonly path: string;
  readonly sha256: string;
}

/** The cache is only a convenience: whatever it refuses (private windows, quotas) is got again. */
async function openCache(): Promise<Cache | null> {
  try {
    return typeof caches === 'undefined' ? null : await caches.open(cacheName);
  } catch {
    return null;
  }
}

const keyOf = (sha256: string) => `https://starling.invalid/weights/${sha256}`;

/** The file, checked; undefined where it is not there, or not what it should be. */
export async function cachedFile({ path, sha256 }: PlanFile): Promise<Uint8Array | undefined> {
  const cache = await openCache();
  const held = await cache?.match(keyOf(sha256));
  if (held === undefined) return undefined;
  const bytes = new Uint8Array(await held.arrayBuffer());
  try {
    checkHash(path, bytes, sha256);
    return bytes;
  } catch {
    await cache?.delete(keyOf(sha256));
    return undefined;
  }
}

/** Whether it is kept now; where not, the next visit gets it again. */
export async function keepFile({ sha256 }: Pick<PlanFile, 'sha256'>, bytes: Uint8Array): Promise<boolean> {
  const cache = await openCache();
  if (cache === null) return false;
  try {
    await cache.put(keyOf(sha256), new Response(bytes.slice()));
    return true;
  } catch {
    return false;
  }
}
