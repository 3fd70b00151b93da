/** Where this checkout keeps what it fetched or derived (ignored by git), and where test models and data may lie. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);

/** Path inside the cache; nothing is created. */
export function cachePath(relative: string): string {
  return fileURLToPath(new URL(`.cache/${relative}`, root));
}

/** Path of a model or data set beside the checkout, or undefined where this machine has none: skip, and say so. */
export function sharedPath(relative: string): string | undefined {
  const path = fileURLToPath(new URL(`../shared/${relative}`, root));
  return existsSync(path) ? path : undefined;
}
