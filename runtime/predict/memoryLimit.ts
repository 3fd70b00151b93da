/** Whether the programs of a room fit their devices' heaps. */
import { StarlingError } from '../../protocol/errors.ts';
import type { RoomProgram } from '../lower/program.ts';
import { predictPeak } from './memory.ts';

/** Bytes for each device; the last counts for all that follow. Undefined where nothing is limited. */
export type MemoryLimits = readonly number[] | undefined;

/** The largest share of its limit that a device's predicted heap takes: up to 1 fits. */
export function memoryShare({ programs }: RoomProgram, limits: MemoryLimits): number {
  const last = limits?.at(-1);
  if (limits === undefined || last === undefined) return 0;
  return Math.max(...programs.map((program, i) => predictPeak(program).heapBytes / (limits[i] ?? last)));
}

/** Throws MEMORY_LIMIT, naming the device that is furthest over its limit. */
export function checkMemoryLimits(room: RoomProgram, limits: MemoryLimits): void {
  if (limits === undefined || memoryShare(room, limits) <= 1) return;
  const devices = room.programs.map((program, i) => ({
    i,
    bytes: predictPeak(program).heapBytes,
    limit: limits[i] ?? limits.at(-1) ?? Number.POSITIVE_INFINITY,
  }));
  const { i, bytes, limit } = devices.reduce((a, b) => (b.bytes / b.limit > a.bytes / a.limit ? b : a));
  const megabytes = (count: number) => `${(count / 1e6).toFixed(1)} MB`;
  throw new StarlingError(
    'MEMORY_LIMIT',
    `With one shard on each of ${devices.length} devices, device ${i} needs about ${megabytes(bytes)} and may have ${megabytes(limit)}; use more shards, divide by channels, or allow more memory.`,
  );
}
