/** The page of the link tests: a peer connection whose tensor channel belongs to a Worker, and a hand on that Worker. */
import { type Remote, transfer, wrap } from 'comlink';
import { forwardChannel } from '../../../web/forwardChannel.ts';
import type { LinkWorkerApi } from './linkWorker.ts';

export interface LinkPageOptions {
  /** The tensor channel stays on the page, which passes its messages on. */
  readonly forwarded: boolean;
  /** Adds a second channel without a link on it. */
  readonly bare: boolean;
  readonly chunkBytes?: number;
  readonly lostMs?: number;
}

export interface LinkPage {
  connect(options: LinkPageOptions): void;
  offer(): Promise<string>;
  answer(offer: string): Promise<string>;
  accept(answer: string): Promise<void>;
  hangUp(): void;
  /** Blocks the page, not the Worker. */
  block(ms: number): void;
  worker: Remote<LinkWorkerApi>;
}

declare global {
  interface Window {
    linkPage: LinkPage;
  }
}

const peer = new RTCPeerConnection({ iceServers: [] });
const worker = wrap<LinkWorkerApi>(new Worker('/worker.js', { type: 'module' }));

async function withCandidates(description: RTCSessionDescriptionInit): Promise<string> {
  await peer.setLocalDescription(description);
  if (peer.iceGatheringState !== 'complete')
    await new Promise<void>((resolve) => {
      peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && resolve();
    });
  return JSON.stringify(peer.localDescription);
}

window.linkPage = {
  connect({ forwarded, bare, ...linkOptions }) {
    const tensors = peer.createDataChannel('tensors', { negotiated: true, id: 7 });
    const plain = bare ? peer.createDataChannel('bare', { negotiated: true, id: 8 }) : null;
    const end = forwarded ? forwardChannel(tensors) : tensors;
    // In the task that created them: later they can no longer be transferred.
    void worker.connect(transfer(end, [end]), plain === null ? null : transfer(plain, [plain]), linkOptions);
  },
  offer: async () => withCandidates(await peer.createOffer()),
  async answer(offer) {
    await peer.setRemoteDescription(JSON.parse(offer));
    return withCandidates(await peer.createAnswer());
  },
  accept: (answer) => peer.setRemoteDescription(JSON.parse(answer)),
  hangUp: () => peer.close(),
  block(ms) {
    const end = performance.now() + ms;
    while (performance.now() < end);
  },
  worker,
};
