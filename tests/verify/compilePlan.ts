/** Compiles one plan of the matrix in memory: what `starling compile` writes and `starling verify` reads, without the disk. */
import { compileModel } from '../../compiler/compile.ts';
import type { Backend } from '../../runtime/backend.ts';
import { openPlan, type Plan } from '../../runtime/plan.ts';
import { fileWeights, type WeightSource } from '../../runtime/weights/blob.ts';
import type { MatrixPlan } from './matrix.ts';

export interface CompiledPlan {
  readonly plan: Plan;
  readonly weights: WeightSource;
}

export async function compilePlan(
  { model, numShards, axis }: MatrixPlan,
  bytes: Uint8Array,
  backend: Backend,
): Promise<CompiledPlan> {
  const { files } = await compileModel(bytes, {
    name: model.name,
    numShards,
    axis,
    shapes: model.shapes,
    backend,
  });
  const plan = await openPlan((path) => Promise.resolve(files.get(path) ?? new Uint8Array(0)));
  const contents = plan.file.weights.map(({ path }) => files.get(path) ?? null);
  return { plan, weights: fileWeights(plan, contents) };
}
