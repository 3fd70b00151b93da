/**
 * The other devices as this page reaches them: one is there once both its page answers and its Worker and this page's
 * hear each other. What is said to them is not decided here.
 */
import * as v from 'valibot';
import { StarlingError } from '../protocol/errors.ts';
import { InstanceMessage } from '../protocol/instanceMessages.ts';
import { RoomMessage } from '../protocol/roomMessages.ts';
import type { MeshEvent } from './peers/mesh.ts';
import type { DeviceWorker } from './worker/deviceWorker.ts';

export interface PeerLinksOptions {
  readonly worker: Pick<DeviceWorker, 'connect' | 'disconnect'>;
  onConnected(deviceId: string): void;
  /** Also for a device that was never connected. */
  onLost(deviceId: string): void;
  onMessage(deviceId: string, message: RoomMessage): void;
  onInstanceMessage(deviceId: string, message: InstanceMessage): void;
  /** Ends no call. */
  onWarning(error: StarlingError): void;
  /** Something that the page shows may have changed. */
  onChange(): void;
}

interface PeerLink {
  readonly channel: RTCDataChannel;
  tensors: boolean;
  control: boolean;
}

export class PeerLinks {
  readonly #options: PeerLinksOptions;
  readonly #failures = new Map<string, string>();
  /** By the channel that counts. */
  readonly #links = new Map<string, PeerLink>();
  #closed = false;

  constructor(options: PeerLinksOptions) {
    this.#options = options;
  }

  /** Reasons why devices are not connected, by id. */
  get failures(): ReadonlyMap<string, string> {
    return this.#failures;
  }

  /** In the task that creates the channel. */
  giveChannel(deviceId: string, channel: RTCDataChannel): void {
    const link = { channel, tensors: false, control: false };
    this.#links.set(deviceId, link);
    this.#options.worker.connect(deviceId, channel).then(
      () => {
        link.tensors = true;
        this.#joinIfLinked(deviceId);
      },
      (thrown: unknown) => {
        if (this.#links.get(deviceId) !== link || this.#closed) return;
        this.#fail(deviceId, StarlingError.from(thrown, 'PEER_UNREACHABLE'));
      },
    );
  }

  take(event: MeshEvent): void {
    const { deviceId } = event;
    switch (event.type) {
      case 'peer-connecting':
        break;
      case 'peer-connected': {
        const link = this.#links.get(deviceId);
        if (link !== undefined) link.control = true;
        this.#joinIfLinked(deviceId);
        break;
      }
      case 'peer-left':
      case 'peer-lost':
        this.#failures.delete(deviceId);
        this.#unlink(deviceId);
        break;
      case 'peer-failed':
        this.#unlink(deviceId);
        this.#fail(deviceId, event.error);
        break;
      case 'message':
        this.#hear(deviceId, event.message);
    }
    this.#options.onChange();
  }

  /** Nothing is told any more. */
  close(): void {
    this.#closed = true;
  }

  #hear(deviceId: string, message: unknown): void {
    const parsed = v.safeParse(RoomMessage, message);
    const ofInstance = v.safeParse(InstanceMessage, message);
    if (parsed.success) this.#options.onMessage(deviceId, parsed.output);
    else if (ofInstance.success) this.#options.onInstanceMessage(deviceId, ofInstance.output);
    else {
      const sentence = 'A message of another device was not understood.';
      this.#options.onWarning(new StarlingError('MESSAGE_INVALID', sentence));
    }
  }

  #joinIfLinked(deviceId: string): void {
    const link = this.#links.get(deviceId);
    if (link === undefined || !link.tensors || !link.control || this.#closed) return;
    this.#failures.delete(deviceId);
    this.#options.onConnected(deviceId);
  }

  #unlink(deviceId: string): void {
    this.#links.delete(deviceId);
    void this.#options.worker.disconnect(deviceId).catch(() => undefined);
    this.#options.onLost(deviceId);
  }

  #fail(deviceId: string, error: StarlingError): void {
    this.#failures.set(deviceId, `${error.code}: ${error.message}`);
    this.#options.onWarning(error);
    this.#options.onChange();
  }
}
