/** A plan on disk: reading its files, and all of its weights. */
import { join } from 'node:path';
import { checkHash, openPlan, type Plan } from '../runtime/plan.ts';
import { fileWeights, type WeightSource } from '../runtime/weights/blob.ts';
import { readBytes } from './files.ts';

export async function openPlanFolder(folder: string): Promise<Plan> {
  return openPlan((path) => readBytes(join(folder, path), 'PLAN_NOT_FOUND'));
}

/** Weights of the given shards (all by default), each file checked against the plan. */
export async function readWeights(
  folder: string,
  plan: Plan,
  shards?: readonly number[],
): Promise<WeightSource> {
  const files: (Uint8Array | null)[] = [];
  for (const { path, sha256, shard } of plan.file.weights) {
    const wanted = shard === null || shards === undefined || shards.includes(shard);
    const bytes = wanted ? await readBytes(join(folder, path), 'PLAN_NOT_FOUND') : null;
    if (bytes !== null) checkHash(path, bytes, sha256);
    files.push(bytes);
  }
  return fileWeights(plan, files);
}
