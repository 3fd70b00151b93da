/**
 * The instances in which this device takes part: those of its own page, and its parts of those that other pages host.
 * Makes and ends them; where they live and what they run is decided in roomPool.ts.
 */
import { StarlingError } from '../../protocol/errors.ts';
import type { InstanceMessage, OpenInstance } from '../../protocol/instanceMessages.ts';
import { limits } from '../../protocol/limits.ts';
import type { PlanSource } from '../../workers/api.ts';
import type { Clock } from '../clock.ts';
import { HostedInstance, type Instance } from './hostedInstance.ts';
import { InstanceMember, type MemberPorts } from './instanceMember.ts';

export type InstanceWish = Pick<OpenInstance, 'plan' | 'devices' | 'shards' | 'threads'> & {
  /** Where this page reads the plan. */
  readonly url: string;
};

export interface RoomInstancesPorts extends MemberPorts {
  readonly clock: Clock;
  planAddresses(plan: OpenInstance['plan']): readonly string[];
}

export class RoomInstances {
  readonly #ports: RoomInstancesPorts;
  readonly #hosted = new Map<number, HostedInstance>();
  /** Parts of instances of other pages. */
  readonly #parts = new Map<string, InstanceMember>();
  /** Numbers of channels that came before the instance they are for, by instance and device. */
  readonly #early = new Map<string, { readonly from: string; readonly channel: number }[]>();
  #next = 0;
  #closed: StarlingError | null = null;

  constructor(ports: RoomInstancesPorts) {
    this.#ports = ports;
  }

  /** Resolves when all its devices are ready. Rejects with what the first of them could not do, or RUN_ABORTED. */
  async open({ url, ...wish }: InstanceWish): Promise<Instance> {
    if (this.#closed !== null) throw this.#closed;
    const { self, send } = this.#ports;
    const instance: OpenInstance = { type: 'instance', number: this.#next++, ...wish };
    const hosted = new HostedInstance({
      self,
      clock: this.#ports.clock,
      instance,
      startMember: (onDeath) =>
        this.#member({ host: self, instance, sources: [{ url, sha256: null }], onDeath }),
      tell: (message) => {
        for (const id of instance.devices) if (id !== self) send(id, message);
      },
      onEnd: () => this.#hosted.delete(instance.number),
    });
    this.#hosted.set(instance.number, hosted);
    hosted.start();
    await hosted.ready;
    return hosted;
  }

  receive(from: string, message: InstanceMessage): void {
    if (this.#closed !== null) return;
    switch (message.type) {
      case 'instance':
        this.#join(from, message);
        break;
      case 'instance-closed':
        this.#leave(keyOf(from, message.number), ended('Its host does not need it any more.'));
        break;
      case 'instance-state':
        this.#hosted.get(message.number)?.heard(from, message.error);
        break;
      case 'instance-channel':
        this.#takeChannel(from, message);
    }
  }

  /** That device's page is gone: so is every instance that it took part in. */
  peerLost(id: string): void {
    const reason = new StarlingError('PEER_LOST', `Device ${id.slice(0, 8)} is gone.`);
    for (const hosted of [...this.#hosted.values()]) {
      if (hosted.placement.devices.includes(id)) hosted.lose(reason);
    }
    for (const [key, { instance }] of [...this.#parts])
      if (instance.devices.includes(id)) this.#leave(key, reason);
    for (const [key, offers] of this.#early) {
      if (offers.some(({ from }) => from === id)) this.#early.delete(key);
    }
  }

  close(reason: StarlingError): void {
    this.#closed = reason;
    for (const hosted of [...this.#hosted.values()]) hosted.lose(reason);
    for (const key of [...this.#parts.keys()]) this.#leave(key, reason);
  }

  #member(options: ConstructorParameters<typeof InstanceMember>[1]): InstanceMember {
    return new InstanceMember(this.#ports, options);
  }

  #join(host: string, instance: OpenInstance): void {
    const { self, send, planAddresses } = this.#ports;
    const { number, devices, plan } = instance;
    const key = keyOf(host, number);
    const tell = (error: StarlingError | null) =>
      send(host, { type: 'instance-state', number, error: error === null ? null : error.toJSON() });
    if (this.#parts.has(key) || !devices.includes(self) || !devices.includes(host)) return;
    if (this.#parts.size >= limits.instances) {
      tell(
        new StarlingError('OVERLOADED', `This device takes part in ${limits.instances} instances already.`),
      );
      return;
    }
    const { sha256 } = plan;
    const sources: PlanSource[] = planAddresses(plan).map((url) => ({ url, sha256, from: host }));
    const fail = (thrown: unknown) => {
      const error = StarlingError.from(thrown, 'SESSION_FAILED');
      if (this.#leave(key, error)) tell(error);
    };
    const member = this.#member({ host, instance, sources, onDeath: fail });
    this.#parts.set(key, member);
    for (const offer of this.#early.get(key) ?? []) member.takeChannel(offer.from, offer.channel);
    this.#early.delete(key);
    member.ready.then(() => tell(null), fail);
  }

  #leave(key: string, reason: StarlingError): boolean {
    const member = this.#parts.get(key);
    this.#early.delete(key);
    if (member === undefined) return false;
    this.#parts.delete(key);
    member.close(reason);
    return true;
  }

  #takeChannel(from: string, message: Extract<InstanceMessage, { type: 'instance-channel' }>): void {
    const { host, number, channel } = message;
    const key = keyOf(host, number);
    const member = host === this.#ports.self ? this.#hosted.get(number)?.member : this.#parts.get(key);
    if (member) member.takeChannel(from, channel);
    else if (host !== this.#ports.self && this.#early.size < limits.instances) {
      const known = (this.#early.get(key) ?? []).filter((offer) => offer.from !== from);
      this.#early.set(key, [...known, { from, channel }]);
    }
  }
}

function keyOf(host: string, number: number): string {
  return `${host} ${number}`;
}

function ended(message: string): StarlingError {
  return new StarlingError('RUN_ABORTED', message);
}
