/**
 * From the path of a request to a file below one of the served directories, or to nothing: no way leads out,
 * not by dots, encoded characters or symbolic links. What is sent for the file is staticFiles.ts.
 */
import { realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** Served directories by the prefix of their address: `/` or `/models`. */
export type Mounts = Readonly<Record<string, string>>;

export type FoundFile =
  | { readonly kind: 'file'; readonly path: string; readonly size: number; readonly modifiedMs: number }
  /** A directory without its last slash; relative addresses in its page need one. */
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'none' };

const none: FoundFile = { kind: 'none' };

/** @param urlPath path of the request, still encoded, without the query */
export async function findFile(urlPath: string, mounts: Mounts): Promise<FoundFile> {
  const segments = decodeSegments(urlPath);
  if (segments === null) return none;
  const mount = findMount(segments, mounts);
  if (mount === null) return none;
  try {
    const root = await realpath(mount.directory);
    let path = await realpath(join(root, ...mount.rest));
    if (path !== root && !path.startsWith(root.endsWith(sep) ? root : root + sep)) return none;
    let info = await stat(path);
    if (info.isDirectory()) {
      if (!urlPath.endsWith('/')) {
        return { kind: 'redirect', location: `/${segments.map(encodeURIComponent).join('/')}/` };
      }
      path = await realpath(join(path, 'index.html'));
      if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) return none;
      info = await stat(path);
    } else if (urlPath.endsWith('/')) return none;
    if (!info.isFile()) return none;
    return { kind: 'file', path, size: info.size, modifiedMs: info.mtimeMs };
  } catch {
    // Not there, or not readable: the same to the one who asked.
    return none;
  }
}

/** Null for what no file of ours can be called: hidden names, dots, separators of any system, control characters. */
function decodeSegments(urlPath: string): string[] | null {
  const segments: string[] = [];
  for (const encoded of urlPath.split('/')) {
    if (encoded === '') continue;
    let segment: string;
    try {
      segment = decodeURIComponent(encoded);
    } catch {
      return null;
    }
    if (segment.startsWith('.') || /[\\/:\p{Cc}]/u.test(segment)) return null;
    segments.push(segment);
  }
  return segments;
}

/** The longest prefix wins. */
function findMount(segments: readonly string[], mounts: Mounts) {
  let best: { directory: string; rest: readonly string[]; length: number } | null = null;
  for (const [prefix, directory] of Object.entries(mounts)) {
    const parts = prefix.split('/').filter((part) => part !== '');
    if (!parts.every((part, index) => segments[index] === part)) continue;
    if (best === null || parts.length > best.length) {
      best = { directory, rest: segments.slice(parts.length), length: parts.length };
    }
  }
  return best;
}
