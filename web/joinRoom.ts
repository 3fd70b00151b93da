/** Joins a room: reaches the signaling server, starts this page's Worker, and makes the Room of both. */
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import { defaultWasmBase } from './defaultWasmBase.ts';
import { Room } from './room.ts';
import type { JoinOptions } from './roomApi.ts';
import { connectSignaling, type SignalingClient } from './signaling/signalingClient.ts';
import { type DeviceWorker, startDeviceWorker } from './worker/deviceWorker.ts';

/**
 * Joins a room and starts this page's device.
 * Rejects SIGNALING_UNREACHABLE, ROOM_FULL, ROOM_LIMIT, ROOM_NAME_INVALID, PROTOCOL_VERSION, BACKEND_UNAVAILABLE,
 * WORKER_DIED, or the signal's reason.
 */
export async function joinRoom(options: JoinOptions): Promise<Room> {
  const { signal } = options;
  const joining = new AbortController();
  const abort = () => joining.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', abort);
  let signaling: SignalingClient | null = null;
  let worker: DeviceWorker | null = null;
  try {
    const url = String(options.signaling);
    signaling = await connectSignaling({ url, room: options.room, signal: joining.signal });
    const death: { tell(error: StarlingError): void } = { tell: () => undefined };
    const wasmBase =
      options.wasmBase === undefined ? defaultWasmBase() : new URL(options.wasmBase, document.baseURI).href;
    const cores = globalThis.navigator.hardwareConcurrency || 1;
    const started = await startedDevice(
      {
        deviceId: signaling.id,
        backend: options.backend ?? 'auto',
        threads: options.threads ?? Math.max(1, Math.min(4, Math.ceil(cores / 2))),
        wasmBase,
        memoryLimitBytes: options.memoryLimitBytes ?? null,
      },
      (error) => death.tell(error),
      joining.signal,
    );
    worker = started.worker;
    return new Room({ options, signaling, wasmBase, death, ...started });
  } catch (thrown) {
    worker?.close();
    signaling?.close();
    throw thrown;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** A Worker that dies while it starts is started anew; some block for no reason of their own. */
async function startedDevice(
  options: Parameters<DeviceWorker['start']>[0],
  onDeath: (error: StarlingError) => void,
  signal: AbortSignal,
) {
  for (let left = limits.workerStarts - 1; ; left--) {
    const worker = startDeviceWorker(onDeath);
    try {
      return { worker, backend: await untilAborted(worker.start(options), signal) };
    } catch (thrown) {
      worker.close();
      const died = thrown instanceof StarlingError && thrown.code === 'WORKER_DIED';
      if (!died || left <= 0) throw thrown;
    }
  }
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
