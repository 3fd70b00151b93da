/** The page of the scaler's benchmark: a device of a room, and on one of them many runs. */
import { joinRoom, type Room } from '../../web/index.ts';
import { type Load, ManyRuns, type PlanCase, type ScalerSettings, type Served } from './manyRuns.ts';

let room: Room | null = null;
const manyRuns = new ManyRuns();

const page = {
  /** `relays`: the only way to the other devices. */
  async join(name: string, relays: readonly RTCIceServer[] | null): Promise<void> {
    room = await joinRoom({
      signaling: new URL('/', location.href),
      room: name,
      backend: 'wasm',
      threads: 1,
      ...(relays === null ? {} : { iceServers: relays, iceTransportPolicy: 'relay' }),
    });
  },

  /** Devices that this page is connected to, itself included. */
  devices(): number {
    return room?.devices.filter(({ state }) => state !== 'connecting' && state !== 'failed').length ?? 0;
  },

  async load(given: PlanCase, wishes: ScalerSettings): Promise<void> {
    if (room === null) throw new Error('Join a room first.');
    await manyRuns.load(room, given, wishes);
  },

  instances: () => manyRuns.instances(),

  serve(load: Load): Promise<Served> {
    return manyRuns.serve(load);
  },
};

declare global {
  interface Window {
    scalerPage: typeof page;
  }
}

window.scalerPage = page;
