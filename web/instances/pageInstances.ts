/** RoomInstances on a page: Workers, channels and plans are the browser's. No decisions. */
import type { BackendInfo, WasmBase } from '../../protocol/backendInfo.ts';
import type { StarlingError } from '../../protocol/errors.ts';
import { heldPlanHash } from '../../protocol/heldPlan.ts';
import { systemClock } from '../clock.ts';
import type { Mesh } from '../peers/meshApi.ts';
import { planAddresses } from '../planAddresses.ts';
import { type DeviceWorker, startDeviceWorker } from '../worker/deviceWorker.ts';
import { bridgePorts } from './bridgePorts.ts';
import { ChannelNumbers } from './channelNumbers.ts';
import type { InstanceWorker } from './instanceMember.ts';
import type { MemoryLedger } from './memoryLedger.ts';
import { RoomInstances } from './roomInstances.ts';

export interface PageInstancesOptions {
  readonly self: string;
  readonly backend: BackendInfo;
  readonly wasmBase: WasmBase;
  /** The page's first Worker, which has the files of plans that no server has. */
  readonly device: Pick<DeviceWorker, 'connectPort'>;
  readonly memory: MemoryLedger;
  mesh(): Mesh;
}

export function createPageInstances(options: PageInstancesOptions): RoomInstances {
  const { self, backend, wasmBase, memory, mesh } = options;
  const numbers = new ChannelNumbers();
  return new RoomInstances({
    self,
    backend: backend.kind,
    wasmBase,
    memory,
    clock: systemClock,
    planAddresses: (plan) => planAddresses(plan, location.origin),
    startWorker: (onDeath) => startInstanceWorker(options, onDeath),
    send: (to, message) => mesh().send(to, message),
    offerChannel: (to) => numbers.open(to, (number) => mesh().openChannel(to, number)),
    openChannel: (to, number) => mesh().openChannel(to, number),
  });
}

let started = 0;

function startInstanceWorker(
  { self, device }: PageInstancesOptions,
  onDeath: (error: StarlingError) => void,
): InstanceWorker {
  const worker = startDeviceWorker(onDeath);
  let endBridge = () => {};
  return {
    ...worker,
    async openPlan(source) {
      // On the page that hosts a plan without a server: its files are in the page's first Worker.
      if (heldPlanHash(source.url) !== null && source.sha256 === null) {
        const { ports, close } = bridgePorts();
        endBridge = close;
        const [here, there] = ports;
        await Promise.all([
          device.connectPort(`${self} instance ${started++}`, here),
          worker.connectPort(`${self} page`, there),
        ]);
      }
      return worker.openPlan(source);
    },
    close() {
      endBridge();
      worker.close();
    },
  };
}
