/** Refuses shards that would not fit a device's limit, by the plan's prediction and before a byte is fetched. */
import { StarlingError } from '../protocol/errors.ts';
import { lower } from '../runtime/lower/lower.ts';
import type { Plan } from '../runtime/plan.ts';
import { predictPeak } from '../runtime/predict/memory.ts';
import type { PlacementMessage } from './api.ts';

/** Throws MEMORY_LIMIT. */
export function checkMemory(
  { model, division, file }: Plan,
  { devices, shards }: PlacementMessage,
  self: string,
  limitBytes: number | null,
): void {
  if (limitBytes === null) return;
  const own = devices.indexOf(self);
  const program = lower(model.graph, division, shards).programs[own];
  if (program === undefined) return;
  const { heapBytes, weightBytes } = predictPeak(program);
  if (heapBytes <= limitBytes) return;
  const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const held = shards[own]?.length ?? 0;
  throw new StarlingError(
    'MEMORY_LIMIT',
    `${held} of the ${file.numShards} shards of "${file.name}" need about ${mib(heapBytes)} on this device (${mib(weightBytes)} of weights), and its limit is ${mib(limitBytes)}; give it fewer shards, or compile the model into more.`,
  );
}
