/**
 * The real models and data beside the repository, which a clone need not have: tests that use them skip
 * with a plain message where they are missing.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const sharedFolder = fileURLToPath(new URL('../../../shared/', import.meta.url));
export const hasShared = existsSync(`${sharedFolder}models`);

if (!hasShared) console.warn(`Tests on real models are skipped: there is no ${sharedFolder}models.`);

/** File names of all models, in order; none where the folder is missing. */
export function sharedModelNames(): readonly string[] {
  if (!hasShared) return [];
  return readdirSync(`${sharedFolder}models`).filter((name) => name.endsWith('.onnx'));
}

export function readSharedModel(name: string): Uint8Array {
  return new Uint8Array(readFileSync(`${sharedFolder}models/${name}`));
}
