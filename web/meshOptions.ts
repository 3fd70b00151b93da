/** What a room's mesh needs of the options that its page was joined with, and what it says of this device. */
import type { BackendInfo } from '../protocol/backendInfo.ts';
import type { MeshOptions } from './peers/meshApi.ts';
import type { JoinOptions } from './roomApi.ts';
import type { DeviceWorker } from './worker/deviceWorker.ts';

export function meshOptionsOf(
  { iceServers, iceTransportPolicy, secret }: JoinOptions,
  label: string,
  backend: BackendInfo,
  { tensorChannel }: Pick<DeviceWorker, 'tensorChannel'>,
): Pick<MeshOptions, 'capabilities' | 'iceServers' | 'iceTransportPolicy' | 'secret'> {
  return {
    capabilities: {
      label,
      backends: [backend.kind],
      threads: Math.max(1, backend.threads),
      isolated: globalThis.crossOriginIsolated === true,
      tensorChannel,
    },
    ...(iceServers === undefined ? {} : { iceServers: iceServers.map(withUrlList) }),
    ...(iceTransportPolicy === undefined ? {} : { iceTransportPolicy }),
    ...(secret === undefined ? {} : { secret }),
  };
}

function withUrlList({ urls, username, credential }: RTCIceServer) {
  return {
    urls: typeof urls === 'string' ? [urls] : [...urls],
    ...(username === undefined ? {} : { username }),
    ...(credential === undefined ? {} : { credential }),
  };
}
