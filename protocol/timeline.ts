/**
 * What happened in one run, on which device and when: plain data for charts and benchmarks. Measured only for runs
 * that ask for it. All times are milliseconds since the run began, on the host's clock.
 */

export interface StageSpan {
  /** Index among the stages of the device. */
  readonly stage: number;
  readonly level: number;
  /** Its inputs were there and the engine was free. */
  readonly startMs: number;
  /** The engine was done; until `endMs` what others get was read, packed and given to the links. */
  readonly computedMs: number;
  readonly endMs: number;
  /** Of the transfers it reads, the one that arrived last; null where it reads none. */
  readonly waitedFor: number | null;
}

/** Inputs go from the host to a device, outputs from a device to the host, tensors between any two. */
export type TransferKind = 'input' | 'tensor' | 'output';

/** What crossed from one device to another. A time is null where its device did not see it before it reported. */
export interface TransferSpan {
  readonly kind: TransferKind;
  readonly id: number;
  /** Indices of devices. */
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
  /** Given to the link. */
  readonly queuedMs: number | null;
  /** The channel had taken the last byte. */
  readonly handedMs: number | null;
  /** The last byte was there and the Worker free to take it. */
  readonly arrivedMs: number | null;
}

export interface RunTimeline {
  /** In the order of the placement. A device that did not report in time has no stages. */
  readonly devices: readonly { readonly device: string; readonly stages: readonly StageSpan[] }[];
  readonly transfers: readonly TransferSpan[];
  readonly totalMs: number;
}
