/** The text forms of links and devices that a plan is made for: `20mbit,3ms` and `1,0.5`. */
import { StarlingError } from '../protocol/errors.ts';
import {
  type DeviceCost,
  type LinkCost,
  linkOver,
  referenceDevice,
  scaleDevice,
} from '../runtime/predict/costModel.ts';

/** Bandwidth and round trip; what a message costs on the devices themselves is added. Throws StarlingError USAGE. */
export function parseLink(text: string): LinkCost {
  const match = /^(\d+(?:\.\d+)?)(k|m|g)bit,(\d+(?:\.\d+)?)ms$/.exec(text);
  if (match === null) throw new StarlingError('USAGE', `Expected --link like 20mbit,3ms, got "${text}".`);
  const [, rate = '0', prefix = 'm', roundTrip = '0'] = match;
  const bitsPerSecond = Number(rate) * { k: 1e3, m: 1e6, g: 1e9 }[prefix as 'k' | 'm' | 'g'];
  return linkOver({ bytesPerMs: bitsPerSecond / 8000, roundTripMs: Number(roundTrip) });
}

/** Relative speeds, one per shard; the last one counts for all that follow. Throws StarlingError USAGE. */
export function parseDevices(text: string, numShards: number): DeviceCost[] {
  const speeds = text.split(',').map(Number);
  if (speeds.some((speed) => !(speed > 0)) || speeds.length > numShards) {
    throw new StarlingError(
      'USAGE',
      `Expected --devices like 1,0.5 (relative speeds, one for each of ${numShards} devices at most), got "${text}".`,
    );
  }
  const last = speeds.at(-1) ?? 1;
  return Array.from({ length: numShards }, (_, i) => scaleDevice(referenceDevice, speeds[i] ?? last));
}
