/** One placement as a device has it loaded: the room's programs, its own executor, and what goes to the others. */

import type { Graph } from '../graph/graph.ts';
import type { Tensor } from '../graph/tensor.ts';
import type { AbortReason, TensorHeader } from '../protocol/frame.ts';
import type { WireType } from '../protocol/wireType.ts';
import type { DevicePlacement } from './deviceApi.ts';
import type { DeviceLinks } from './deviceLinks.ts';
import type { DeviceRunStats, Executor } from './executor.ts';
import type { RoomProgram } from './lower/program.ts';

export interface EpochParts {
  readonly self: string;
  readonly placement: DevicePlacement;
  /** Of the plan: nothing here may hold its weights, which the sessions have their own copy of. */
  readonly graph: Graph;
  readonly openBatch: boolean;
  readonly speed: number | null;
  readonly room: RoomProgram;
  readonly executor: Executor;
  readonly links: DeviceLinks;
}

export class Epoch {
  readonly placement: DevicePlacement;
  readonly graph: Graph;
  readonly openBatch: boolean;
  readonly speed: number | null;
  readonly room: RoomProgram;
  readonly executor: Executor;
  readonly #self: string;
  readonly #links: DeviceLinks;

  constructor({ self, placement, graph, openBatch, speed, room, executor, links }: EpochParts) {
    this.placement = placement;
    this.graph = graph;
    this.openBatch = openBatch;
    this.speed = speed;
    this.room = room;
    this.executor = executor;
    this.#self = self;
    this.#links = links;
  }

  /** Of the device that feeds the inputs and collects the outputs. */
  get host(): number {
    return this.placement.devices.indexOf(this.placement.host);
  }

  isSelf(device: number): boolean {
    return this.placement.devices[device] === this.#self;
  }

  /** Whether a run cannot go on without that device. */
  needs(peer: string): boolean {
    const { devices, shards, host } = this.placement;
    return peer === host || (shards[devices.indexOf(peer)] ?? []).length > 0;
  }

  /** Rejects PEER_LOST. */
  send(
    to: number,
    kind: TensorHeader['kind'],
    run: number,
    transfer: number,
    { dims, data, dataType }: Tensor,
  ): Promise<void> {
    const { devices, epoch } = this.placement;
    const frame = { kind, epoch, run, transfer, dataType: dataType as WireType, dims, data };
    return this.#links.send(devices[to] ?? '', frame);
  }

  tellAbort(peer: string, run: number, reason: AbortReason): void {
    this.#links.tell(peer, { kind: 'abort', epoch: this.placement.epoch, run, reason });
  }

  /** Asks the others to take notes of a run. */
  tellRecord(run: number): void {
    const { devices, epoch } = this.placement;
    for (const peer of devices) this.#links.tell(peer, { kind: 'record', epoch, run });
  }

  /** What has come of frames that nobody waits for any more is freed; notes of the run may still arrive. */
  end(run: number): DeviceRunStats {
    const stats = this.executor.end(run);
    const { epoch } = this.placement;
    this.#links.discard(
      (header) => header.epoch === epoch && header.run === run && header.kind !== 'recorded',
    );
    return stats;
  }

  /** Nothing of it runs any more. */
  async close(): Promise<void> {
    const { epoch } = this.placement;
    this.#links.discard((header) => header.epoch === epoch);
    await this.executor.close();
  }
}
