/**
 * This device's part of one instance: a Worker of its own, linked to the Workers of the other devices, with the plan
 * open and its shards loaded. What is run on it, and what becomes of it, is its host's business.
 */
import type { BackendKind, WasmBase } from '../../protocol/backendInfo.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { InstanceMessage, OpenInstance } from '../../protocol/instanceMessages.ts';
import type { DeviceApi, PlanSource } from '../../workers/api.ts';
import type { MemoryLedger } from './memoryLedger.ts';

/** The Worker of a part; the page makes one for each. */
export interface InstanceWorker
  extends Pick<DeviceApi, 'start' | 'openPlan' | 'predictHeap' | 'load' | 'run' | 'abort'> {
  connect(deviceId: string, channel: RTCDataChannel): Promise<void>;
  close(): void;
}

export interface MemberPorts {
  readonly self: string;
  readonly backend: BackendKind;
  readonly wasmBase: WasmBase;
  readonly memory: MemoryLedger;
  startWorker(onDeath: (error: StarlingError) => void): InstanceWorker;
  send(to: string, message: InstanceMessage): boolean;
  /** With the number under which the other device is to open it; null where there is none. */
  offerChannel(to: string): { readonly number: number; readonly channel: RTCDataChannel } | null;
  openChannel(to: string, number: number): RTCDataChannel | null;
}

export interface MemberOptions {
  readonly host: string;
  readonly instance: OpenInstance;
  /** Where this device may find the plan, the best first. */
  readonly sources: readonly PlanSource[];
  onDeath(error: StarlingError): void;
}

/** All instances of one device have the same epoch, their first: none is ever placed anew. */
const epoch = 1;

export class InstanceMember {
  readonly host: string;
  readonly instance: OpenInstance;
  readonly worker: InstanceWorker;
  /** Rejects with the first error of its Worker, its links or its plan. */
  readonly ready: Promise<void>;
  readonly #ports: MemberPorts;
  readonly #numbers = new Map<string, (number: number) => void>();
  #giveBack: () => void = () => undefined;
  #closed = false;
  #fail: (error: StarlingError) => void = () => undefined;

  constructor(ports: MemberPorts, options: MemberOptions) {
    this.#ports = ports;
    this.host = options.host;
    this.instance = options.instance;
    this.worker = ports.startWorker((error) => options.onDeath(error));
    const ended = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    this.ready = Promise.race([this.#start(options.sources), ended]);
    this.ready.catch(() => undefined);
  }

  /** Another device of the instance has opened its end of their channel. */
  takeChannel(from: string, number: number): void {
    this.#numbers.get(from)?.(number);
    this.#numbers.delete(from);
  }

  /** Ends the Worker and what runs on it. */
  close(reason: StarlingError): void {
    this.#closed = true;
    this.#fail(reason);
    this.worker.close();
    this.#giveBack();
  }

  async #start(sources: readonly PlanSource[]): Promise<void> {
    const { self, backend, wasmBase } = this.#ports;
    const { devices, shards, threads } = this.instance;
    const others = devices.filter((id) => id !== self);
    // Others may say a number before this Worker has started.
    const numbers = new Map(others.filter((id) => id < self).map((id) => [id, this.#numberOf(id)]));
    await this.worker.start({ deviceId: self, backend, threads, wasmBase });
    await Promise.all(others.map((id) => this.#link(id, numbers.get(id))));
    await this.#openPlan(sources);
    const placement = { epoch, devices, shards, host: this.host };
    const bytes = await this.worker.predictHeap(placement);
    if (this.#closed) return;
    this.#giveBack = this.#ports.memory.reserve(bytes);
    await this.worker.load(placement, () => undefined);
  }

  #numberOf(peer: string): Promise<number> {
    return new Promise((resolve) => {
      this.#numbers.set(peer, resolve);
    });
  }

  async #link(peer: string, theirs: Promise<number> | undefined): Promise<void> {
    const { openChannel, offerChannel, send } = this.#ports;
    if (theirs !== undefined) {
      const channel = openChannel(peer, await theirs);
      if (channel === null) throw noChannel(peer);
      return this.worker.connect(peer, channel);
    }
    const offered = offerChannel(peer);
    if (offered === null) throw noChannel(peer);
    const { number, channel } = offered;
    // First: a channel can be given to a Worker only in the task that creates it.
    const connected = this.worker.connect(peer, channel);
    send(peer, {
      type: 'instance-channel',
      host: this.host,
      number: this.instance.number,
      channel: number,
    });
    return connected;
  }

  async #openPlan(sources: readonly PlanSource[]): Promise<void> {
    let failure: unknown = new StarlingError(
      'PLAN_NOT_FOUND',
      'The plan has no address that can be used here.',
    );
    for (const source of sources) {
      try {
        await this.worker.openPlan(source);
        return;
      } catch (thrown) {
        failure = thrown;
      }
    }
    throw failure;
  }
}

function noChannel(peer: string): StarlingError {
  const device = peer.slice(0, 8);
  return new StarlingError('PEER_UNREACHABLE', `No further channel to device ${device} could be opened.`);
}
