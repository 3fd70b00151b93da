/**
 * Starts the data plane's Worker and gives its DeviceApi on the page. The only file of the page that knows comlink.
 * A Worker that dies rejects every call, pending and later, with WORKER_DIED.
 */
import * as Comlink from 'comlink';
import { StarlingError } from '../../protocol/errors.ts';
import { type Packed, unpackResult, type WireResult } from '../../protocol/wireError.ts';
import type { DeviceApi } from '../../workers/api.ts';
import { forwardChannel } from '../forwardChannel.ts';

export interface DeviceWorker extends Omit<DeviceApi, 'connect'> {
  /**
   * Gives the Worker the tensor channel to another device; call it in the task that creates the channel. Resolves
   * when both ends hear each other.
   */
  connect(deviceId: string, channel: RTCDataChannel): Promise<void>;
  /** Who reads the tensor channels: the Worker itself, or this page, where they cannot be transferred. */
  readonly tensorChannel: 'worker' | 'page';
  close(): void;
}

export function startDeviceWorker(onDeath: (error: StarlingError) => void): DeviceWorker {
  const worker = new Worker(new URL('../../workers/device.worker.ts', import.meta.url), { type: 'module' });
  const remote = Comlink.wrap<Packed<DeviceApi>>(worker);
  let death: StarlingError | null = null;
  const transferable = canTransferChannels();
  const pending = new Set<(error: StarlingError) => void>();

  const die = (message: string) => {
    if (death !== null) return;
    death = new StarlingError('WORKER_DIED', message);
    worker.terminate();
    for (const reject of pending) reject(death);
    pending.clear();
  };
  worker.onerror = (event) => {
    // Without a message the script itself could not be loaded.
    die(
      event.message
        ? `The Worker that computes on this device has died (${event.message}).`
        : 'The script of the Worker that computes on this device could not be loaded; reload the page.',
    );
    if (death !== null) onDeath(death);
  };
  worker.onmessageerror = () => {
    die('A message of the Worker that computes on this device could not be read.');
    if (death !== null) onDeath(death);
  };

  const call = <T>(send: () => Promise<WireResult<T>>): Promise<T> => {
    if (death !== null) return Promise.reject(death);
    return new Promise<T>((resolve, reject) => {
      pending.add(reject);
      send()
        .then((result) => resolve(unpackResult(result)))
        .catch(reject)
        .finally(() => pending.delete(reject));
    });
  };

  return {
    tensorChannel: transferable ? 'worker' : 'page',
    start: (options) => call(() => remote.start(options)),
    openPlan: (source) => call(() => remote.openPlan(source)),
    load: (placement, onProgress) => call(() => remote.load(placement, Comlink.proxy(onProgress))),
    connect: (deviceId, channel) =>
      call(() => {
        if (!transferable) {
          const port = forwardChannel(channel);
          return remote.connect(deviceId, Comlink.transfer(port, [port]));
        }
        return remote.connect(deviceId, Comlink.transfer(channel, [channel as unknown as Transferable]));
      }),
    disconnect: (deviceId) => call(() => remote.disconnect(deviceId)),
    run: (runId, inputs, options) => call(() => remote.run(runId, inputs, options)),
    abort: (runId) => call(() => remote.abort(runId)),
    unload: () => call(() => remote.unload()),
    close: () => die('The device was closed by its page.'),
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
