/** The page of the peer tests: a member of a room whose tensor channels belong to a Worker, and what it has seen. */
import { createMesh, type Mesh, type MeshEvent } from '../../../web/peers/mesh.ts';
import { connectSignaling, type SignalingClient } from '../../../web/signaling/signalingClient.ts';

export interface PeersPage {
  join(options: {
    room: string;
    secret?: string;
    relayOnly?: boolean;
    /** Plays a server that puts a fingerprint of its own into every description that leaves this page. */
    tampered?: boolean;
  }): Promise<string>;
  /** Events of the mesh without the objects in them; `message` and errors as text. */
  events: { type: string; deviceId: string; text: string; code: string }[];
  /** What the Worker got on tensor channels. */
  tensors: string[];
  mesh(): Mesh;
  signaling(): SignalingClient;
  connectedTo(): string[];
}

declare global {
  interface Window {
    peersPage: PeersPage;
  }
}

/** Greets on every channel it is given, once that is open, and reports what comes. */
const workerSource = `onmessage = ({ data: { deviceId, channel } }) => {
  const greet = () => channel.send('tensors for ' + deviceId);
  channel.onmessage = (event) => postMessage(event.data);
  if (channel.readyState === 'open') greet(); else channel.onopen = greet;
};`;

let mesh: Mesh;
let signaling: SignalingClient;

const page: PeersPage = {
  events: [],
  tensors: [],
  mesh: () => mesh,
  signaling: () => signaling,
  connectedTo: () => [...mesh.peers.values()].filter((p) => p.state === 'connected').map((p) => p.deviceId),
  async join({ room, secret, relayOnly = false, tampered = false }) {
    const worker = new Worker(URL.createObjectURL(new Blob([workerSource])));
    worker.onmessage = (event) => page.tensors.push(event.data);
    signaling = await connectSignaling({
      url: location.href,
      room,
      createSocket: (address) => (tampered ? new TamperedSocket(address) : new WebSocket(address)),
    });
    mesh = createMesh({
      signaling,
      ...(secret === undefined ? {} : { secret }),
      iceTransportPolicy: relayOnly ? 'relay' : 'all',
      capabilities: {
        label: 'test',
        backends: ['wasm'],
        threads: 1,
        isolated: crossOriginIsolated,
        tensorChannel: 'worker',
      },
      onTensorChannel: (deviceId, channel) =>
        worker.postMessage({ deviceId, channel }, [channel as unknown as Transferable]),
      onEvent: (event) => page.events.push(flat(event)),
    });
    return signaling.id;
  },
};
window.peersPage = page;

class TamperedSocket extends WebSocket {
  override send(text: string): void {
    super.send(
      text.replaceAll(
        /(a=fingerprint:sha-256 )(..)/g,
        (_, start, byte) => `${start}${byte === '00' ? '01' : '00'}`,
      ),
    );
  }
}

function flat(event: MeshEvent): PeersPage['events'][number] {
  const { type, deviceId } = event;
  const error = 'error' in event ? event.error : null;
  const text = event.type === 'message' ? JSON.stringify(event.message) : (error?.message ?? '');
  return { type, deviceId, text, code: error?.code ?? '' };
}
