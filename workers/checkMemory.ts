/** What shards would take of a device's memory, by the plan's prediction and before a byte is fetched; refuses what does not fit. */
import { StarlingError } from '../protocol/errors.ts';
import { lower } from '../runtime/lower/lower.ts';
import type { Plan } from '../runtime/plan.ts';
import { type PeakBytes, predictPeak } from '../runtime/predict/memory.ts';
import type { PlacementMessage } from './api.ts';

/** Of this device's shards; null where it is no part of the placement. */
export function predictedPeak(
  { model, division }: Plan,
  { devices, shards }: PlacementMessage,
  self: string,
): PeakBytes | null {
  const program = lower(model.graph, division, shards).programs[devices.indexOf(self)];
  return program === undefined ? null : predictPeak(program);
}

/** Throws MEMORY_LIMIT. */
export function checkMemory(
  plan: Plan,
  placement: PlacementMessage,
  self: string,
  limitBytes: number | null,
): void {
  if (limitBytes === null) return;
  const peak = predictedPeak(plan, placement, self);
  if (peak === null || peak.heapBytes <= limitBytes) return;
  const { heapBytes, weightBytes } = peak;
  const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const held = placement.shards[placement.devices.indexOf(self)]?.length ?? 0;
  throw new StarlingError(
    'MEMORY_LIMIT',
    `${held} of the ${plan.file.numShards} shards of "${plan.file.name}" need about ${mib(heapBytes)} on this device (${mib(weightBytes)} of weights), and its limit is ${mib(limitBytes)}; give it fewer shards, or compile the model into more.`,
  );
}
