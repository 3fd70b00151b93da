/**
 * Starts the data plane's Worker and gives its DeviceApi on the page. Only this file and compileWorker.ts know comlink.
 * A Worker that dies rejects every call, pending and later, with WORKER_DIED.
 */
import * as Comlink from 'comlink';
import { StarlingError } from '../../protocol/errors.ts';
import type { Packed } from '../../protocol/wireError.ts';
import type { DeviceApi } from '../../workers/api.ts';
import { forwardChannel } from '../forwardChannel.ts';
import { watchAnswers } from './watchAnswers.ts';
import { watchWorker } from './workerCalls.ts';

export interface DeviceWorker extends Omit<DeviceApi, 'connect'> {
  /**
   * Gives the Worker the tensor channel to another device; call it in the task that creates the channel. Resolves
   * when both ends hear each other.
   */
  connect(deviceId: string, channel: RTCDataChannel): Promise<void>;
  /** The same over a port that speaks as a forwarded channel: to another Worker of this page. */
  connectPort(deviceId: string, port: MessagePort): Promise<void>;
  /** Who reads the tensor channels: the Worker itself, or this page, where they cannot be transferred. */
  readonly tensorChannel: 'worker' | 'page';
  close(): void;
}

export function startDeviceWorker(onDeath: (error: StarlingError) => void): DeviceWorker {
  const worker = new Worker(new URL('../../workers/device.worker.ts', import.meta.url), { type: 'module' });
  const remote = Comlink.wrap<Packed<DeviceApi>>(worker);
  const transferable = canTransferChannels();
  const { call, end, die } = watchWorker(worker, 'computes on this device', onDeath);

  return {
    tensorChannel: transferable ? 'worker' : 'page',
    alive: () => call(() => remote.alive()),
    start: (options) => {
      const starting = call(() => remote.start(options));
      watchAnswers(() => call(() => remote.alive()), starting, die);
      return starting;
    },
    openPlan: (source) => call(() => remote.openPlan(source)),
    holdPlans: (plans) =>
      call(() => {
        const files = plans.flatMap((plan) => [...plan.values()]);
        const buffers = files.map(({ buffer }) => buffer as ArrayBuffer);
        return remote.holdPlans(Comlink.transfer(plans, [...new Set(buffers)]));
      }),
    measureSpeed: () => call(() => remote.measureSpeed()),
    measureLink: (deviceId) => call(() => remote.measureLink(deviceId)),
    forecast: (question) => call(() => remote.forecast(question)),
    predictHeap: (placement) => call(() => remote.predictHeap(placement)),
    load: (placement, onProgress) => call(() => remote.load(placement, Comlink.proxy(onProgress))),
    connect: (deviceId, channel) =>
      call(() => {
        if (!transferable) {
          const port = forwardChannel(channel);
          return remote.connect(deviceId, Comlink.transfer(port, [port]));
        }
        return remote.connect(deviceId, Comlink.transfer(channel, [channel as unknown as Transferable]));
      }),
    connectPort: (deviceId, port) => call(() => remote.connect(deviceId, Comlink.transfer(port, [port]))),
    disconnect: (deviceId) => call(() => remote.disconnect(deviceId)),
    run: (runId, inputs, options) => call(() => remote.run(runId, inputs, options)),
    abort: (runId) => call(() => remote.abort(runId)),
    unload: () => call(() => remote.unload()),
    close: () => end(new StarlingError('WORKER_DIED', 'The device was closed by its page.')),
  };
}

function canTransferChannels(): boolean {
  if (typeof RTCPeerConnection === 'undefined') return false;
  const connection = new RTCPeerConnection();
  try {
    const channel = connection.createDataChannel('probe', { negotiated: true, id: 0 });
    structuredClone(channel, { transfer: [channel as unknown as Transferable] });
    return true;
  } catch {
    return false;
  } finally {
    connection.close();
  }
}
