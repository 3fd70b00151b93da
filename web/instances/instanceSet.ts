/**
 * Which instances there are, which of them are wanted, and which are busy. One that is not wanted any more is parked
 * for a while, as making it again takes a second or more.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { Clock } from '../clock.ts';
import { type Shares, sameShares } from '../placement.ts';
import type { Instance } from './hostedInstance.ts';

export interface InstanceSetPorts {
  readonly clock: Clock;
  /**
   * Where the next one is to live beside the others: the same answer while devices and wishes stay the same. Throws
   * MEMORY_LIMIT where there is no memory for it.
   */
  place(others: readonly Shares[]): Shares;
  /** One could not be made beside the others. Whether another place is to be tried. */
  refused(placement: Shares, others: readonly Shares[], error: unknown): boolean;
  open(placement: Shares, threads: number): Promise<Instance>;
  /** One that was wanted is gone. */
  onLost(): void;
  /** One can take a batch. */
  onIdle(): void;
}

interface Member {
  readonly instance: Instance;
  busy: boolean;
  state: 'wanted' | 'parked';
  cancelParking: () => void;
}

interface Failure {
  readonly error: unknown;
  /** The missing ones may find another place. */
  readonly isWorthwhile: boolean;
}

class Refused implements Failure {
  readonly error: unknown;
  readonly isWorthwhile: boolean;

  constructor(error: unknown, isWorthwhile: boolean) {
    this.error = error;
    this.isWorthwhile = isWorthwhile;
  }
}

export class InstanceSet {
  readonly #ports: InstanceSetPorts;
  readonly #members = new Set<Member>();
  #closed = false;

  constructor(ports: InstanceSetPorts) {
    this.#ports = ports;
  }

  /** Instances that take batches. */
  get size(): number {
    return this.#wanted().length;
  }

  get placements(): readonly Shares[] {
    return this.#wanted().map(({ instance }) => instance.placement);
  }

  /** What was parked would live elsewhere now. */
  dropParked(): void {
    for (const member of [...this.#members]) if (member.state === 'parked') this.#drop(member);
  }

  /**
   * So many, each where `place` says; those that live there already stay. Rejects with what kept the first missing one
   * from being made; those that could be made stay.
   */
  async resize(count: number, threads: number): Promise<void> {
    const kept = new Set<Member>();
    let failure = await this.#fill(count, threads, kept);
    while (failure?.isWorthwhile === true) failure = await this.#fill(count, threads, kept);
    // Only now: until then the others serve.
    for (const member of this.#wanted()) if (!kept.has(member)) this.#park(member);
    this.#ports.onIdle();
    if (failure !== null) throw failure.error;
  }

  /** Makes what is missing; null where nothing is. */
  async #fill(count: number, threads: number, kept: Set<Member>): Promise<Failure | null> {
    kept.clear();
    const placements: Shares[] = [];
    const opening: Promise<void>[] = [];
    for (let i = 0; i < count; i++) {
      try {
        placements.push(this.#ports.place(placements));
      } catch (thrown) {
        opening.push(Promise.reject(thrown));
        break;
      }
      const placement = placements[i];
      if (placement === undefined) break;
      const known = this.#find(placement, threads, kept);
      if (known === null) opening.push(this.#open(placement, placements.slice(0, i), threads, kept));
      else kept.add(this.#want(known));
    }
    const results = await Promise.allSettled(opening);
    const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (failed.length === 0) return null;
    const other = failed.find((reason) => reason instanceof Refused && reason.isWorthwhile);
    const [first] = failed;
    const error: unknown = first instanceof Refused ? first.error : first;
    return { error, isWorthwhile: !this.#closed && other !== undefined };
  }

  /** An idle instance, busy from now on; null where there is none. */
  take(): Instance | null {
    const idle = this.#wanted().find(({ busy }) => !busy);
    if (idle === undefined) return null;
    idle.busy = true;
    return idle.instance;
  }

  giveBack(instance: Instance): void {
    for (const member of [...this.#members]) {
      if (member.instance !== instance) continue;
      member.busy = false;
      if (member.state === 'parked') this.#park(member);
    }
    this.#ports.onIdle();
  }

  close(): void {
    this.#closed = true;
    for (const { instance, cancelParking } of [...this.#members]) {
      cancelParking();
      instance.close();
    }
    this.#members.clear();
  }

  #wanted(): Member[] {
    return [...this.#members].filter(({ state }) => state === 'wanted');
  }

  /** Of those that live there, one that is at work before one that is parked. */
  #find(placement: Shares, threads: number, kept: ReadonlySet<Member>): Member | null {
    const fitting = [...this.#members].filter(
      (member) =>
        !kept.has(member) &&
        member.instance.threads === threads &&
        sameShares(member.instance.placement, placement),
    );
    return fitting.find(({ state }) => state === 'wanted') ?? fitting[0] ?? null;
  }

  async #open(
    placement: Shares,
    others: readonly Shares[],
    threads: number,
    kept: Set<Member>,
  ): Promise<void> {
    let instance: Instance;
    try {
      instance = await this.#ports.open(placement, threads);
    } catch (thrown) {
      throw new Refused(thrown, this.#giveWay(thrown) || this.#ports.refused(placement, others, thrown));
    }
    if (this.#closed || instance.lost !== null) {
      instance.close();
      throw instance.lost ?? new StarlingError('RUN_ABORTED', 'The session was released.');
    }
    const member: Member = { instance, busy: false, state: 'wanted', cancelParking: () => {} };
    this.#members.add(member);
    kept.add(member);
    instance.onLost(() => this.#lost(member));
    this.#ports.onIdle();
  }

  /** What is parked takes memory that others need. */
  #giveWay(thrown: unknown): boolean {
    const isFull = StarlingError.from(thrown, 'INTERNAL').code === 'MEMORY_LIMIT';
    const parked = [...this.#members].filter(({ state, busy }) => state === 'parked' && !busy);
    if (!isFull || parked.length === 0) return false;
    for (const member of parked) this.#drop(member);
    return true;
  }

  #want(member: Member): Member {
    member.cancelParking();
    member.state = 'wanted';
    return member;
  }

  #park(member: Member): void {
    member.cancelParking();
    member.state = 'parked';
    member.cancelParking = this.#ports.clock.after(limits.instanceParkedMs, () => this.#drop(member));
  }

  /** Ends it; one that is busy answers its batch first, and is parked again after that. */
  #drop(member: Member): void {
    member.cancelParking();
    if (member.busy) return;
    this.#members.delete(member);
    member.instance.close();
  }

  #lost(member: Member): void {
    member.cancelParking();
    if (this.#members.delete(member) && member.state === 'wanted') this.#ports.onLost();
  }
}
