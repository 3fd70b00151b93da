/**
 * A whole room in one process: one Device per placement entry over in-memory channels, with the same lowering,
 * executor, links and frames as in the browser. For verifying and measuring; nothing here is faster than one device.
 */

import type { Tensor } from '../../graph/tensor.ts';
import type { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { systemClock } from '../../runtime/clock.ts';
import {
  Device,
  type DevicePlan,
  type DeviceRunOptions,
  type DeviceRunResult,
} from '../../runtime/device.ts';
import type { Placement, RoomProgram } from '../../runtime/lower/program.ts';
import { createMemoryNetwork } from '../../runtime/memoryChannel.ts';

export interface LocalRoom {
  readonly room: RoomProgram;
  run(inputs: Readonly<Record<string, Tensor>>, options?: DeviceRunOptions): Promise<DeviceRunResult>;
  /** Bytes that have crossed between devices so far, headers and greetings included. */
  readonly deliveredBytes: number;
  close(): Promise<void>;
}

export interface LocalRoomOptions {
  /** Plan of each device; a function so that a test can give one device a wrong weight. */
  readonly planOf: (device: number) => DevicePlan;
  readonly placement: Placement;
  readonly backend: Backend;
  /** Index of the device that feeds and collects; default 0. */
  readonly host?: number;
  readonly random?: () => number;
}

export async function openLocalRoom(options: LocalRoomOptions): Promise<LocalRoom> {
  const { placement, backend, planOf, host = 0, random } = options;
  const network = createMemoryNetwork(random === undefined ? {} : { random });
  const ids = placement.map((_, device) => `device${device}`);
  let failure: StarlingError | undefined;
  const onFailed = (error: StarlingError) => {
    failure ??= error;
  };
  const devices = ids.map((id) => new Device({ id, backend, clock: systemClock, onFailed }));
  const connected: Promise<void>[] = [];
  devices.forEach((a, i) => {
    devices.forEach((b, j) => {
      if (j <= i) return;
      const [left, right] = network.pair();
      connected.push(a.connect(ids[j] ?? '', left), b.connect(ids[i] ?? '', right));
    });
  });
  await Promise.all(connected);
  const message = { epoch: 1, devices: ids, shards: placement, host: ids[host] ?? '' };
  let room: RoomProgram | undefined;
  for (const [index, device] of devices.entries()) room = await device.load(planOf(index), message);
  let runs = 0;
  return {
    room: room ?? { programs: [], rounds: 0, exchangedBytes: 0 },
    run: (inputs, runOptions) => {
      const hosting = devices[host];
      if (hosting === undefined) return Promise.reject(new RangeError(`No device ${host}.`));
      // The device that failed knows more than the host is told.
      return hosting
        .run(++runs, inputs, runOptions)
        .catch((thrown: unknown) => Promise.reject(failure ?? thrown));
    },
    get deliveredBytes() {
      return network.deliveredBytes;
    },
    async close() {
      for (const device of devices) await device.close();
    },
  };
}
