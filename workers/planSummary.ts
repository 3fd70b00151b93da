/** What the page is told of a plan: enough to show it, to check inputs and to place it. */
import { keptFeatures } from '../protocol/plan.ts';
import type { Plan } from '../runtime/plan.ts';
import type { PlanSummary } from './api.ts';

export function planSummary({ file, sha256 }: Plan): PlanSummary {
  const { report, sparse } = file;
  return {
    name: file.name,
    sha256,
    sourceSha256: file.source.sha256,
    numShards: file.numShards,
    maxBatch: file.maxBatch,
    inputs: file.inputs.map(({ name, dataType, shape }) => ({ name, dataType, shape })),
    outputs: file.outputs.map(({ name, dataType, shape }) => ({ name, dataType, shape })),
    weightBytes: report.weightBytes,
    macs: report.macs,
    keptRatio: keptFeatures(sparse),
    classes: file.classes ?? [],
    measured: file.measured ?? null,
    metadata: file.metadata,
  };
}
