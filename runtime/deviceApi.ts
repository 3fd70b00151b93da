/** What a device of a room is given and what it gives back. Types only. */
import type { Model } from '../graph/graph.ts';
import type { Tensor } from '../graph/tensor.ts';
import type { StarlingError } from '../protocol/errors.ts';
import type { RunTimeline } from '../protocol/timeline.ts';
import type { Backend } from './backend.ts';
import type { Clock } from './clock.ts';
import type { Division } from './lower/program.ts';
import type { WeightSource } from './weights/blob.ts';

export interface DevicePlacement {
  readonly epoch: number;
  /** Device ids; their order numbers the devices. */
  readonly devices: readonly string[];
  /** Shards of each device of `devices`. */
  readonly shards: readonly (readonly number[])[];
  readonly host: string;
}

export interface DevicePlan {
  readonly model: Model;
  readonly division: Division;
  readonly openBatch: boolean;
  readonly weights: WeightSource;
  /** Runs the stages a few times before they are used; default true. */
  readonly warmUp?: boolean;
}

/** Of one run, on the device that asked for it. */
export interface RunStats {
  readonly totalMs: number;
  readonly computeMs: number;
  /** Time in which this device neither computed nor had anything to compute. */
  readonly waitMs: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly rounds: number;
  /** Of this device's engine, which never shrinks: the most it has needed. Null where it cannot be known. */
  readonly heapBytes: number | null;
}

export interface DeviceRunResult {
  readonly outputs: Readonly<Record<string, Tensor>>;
  readonly stats: RunStats;
  /** Where it was asked for. */
  readonly timeline?: RunTimeline;
}

export interface DeviceRunOptions {
  readonly timeoutMs?: number;
  /** Notes when each stage ran and each transfer travelled; the answer waits for the devices' notes. */
  readonly timeline?: boolean;
}

export interface DeviceOptions {
  readonly id: string;
  readonly backend: Backend;
  readonly clock: Clock;
  /** A link closed; runs that needed it have been rejected. */
  readonly onLost?: (peer: string, reason: StarlingError) => void;
  /** A run failed on this device; its host hears only the code. */
  readonly onFailed?: (error: StarlingError) => void;
  /** Files that other devices may have, by SHA-256; none where it is left out. */
  readonly readFile?: (sha256: string) => Promise<Uint8Array | undefined>;
}
