/**
 * Which placement holds: its host, whom it gives which shards, and whether all of them have loaded it. The newest
 * epoch wins. When a new one is announced is decided in decisions.ts.
 */

import type { StarlingError } from '../../protocol/errors.ts';
import type { ErrorMessage, LoadState, Placement } from '../../protocol/roomMessages.ts';
import { sameShares } from '../placement.ts';
import type { PlanPlace } from '../planAddresses.ts';
import type { Follower } from './follower.ts';
import type { LinkCosts } from './linkCosts.ts';
import { eligible, loadOf, type Members, stands } from './members.ts';
import type { Decision, DeviceChoice, Placer } from './placer.ts';

export interface EpochsOptions {
  readonly self: string;
  readonly members: Members;
  /** Of this device: the plan it has open, and where its own load stands. */
  readonly follower: Follower;
  readonly placer: Placer;
  readonly links: Pick<LinkCosts, 'isKnown'>;
  describePlan(url: string): PlanPlace;
  broadcast(placement: Placement): void;
}

export class Epochs {
  /** Devices that get no shards until they come back with a new connection, and why. */
  readonly excluded = new Map<string, ErrorMessage>();
  /** The placement must be announced anew although nobody joined or left. */
  stale = false;
  /** Which devices this one announces placements for. */
  devices: DeviceChoice = 'best';
  readonly #options: EpochsOptions;
  #placement: Placement | null = null;
  #changed = false;

  constructor(options: EpochsOptions) {
    this.#options = options;
  }

  get placement(): Placement | null {
    return this.#placement;
  }

  get isHost(): boolean {
    return this.#placement?.host === this.#options.self;
  }

  get hostPresent(): boolean {
    const placement = this.#placement;
    if (placement === null || this.isHost) return placement !== null;
    const host = this.#options.members.get(placement.host);
    // A host that could not load its own shards has no session any more and holds nobody up.
    return host !== undefined && loadOf(host, placement)?.phase !== 'failed';
  }

  /** Whether this device has decided something since the last call that asks for further decisions. */
  takeChanged(): boolean {
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  /** A placement of another host: the newest is followed; of two at once the host with the greater id stays. */
  hear(placement: Placement): void {
    const own = this.#placement;
    if (own === null || placement.epoch > own.epoch) this.#placement = placement;
    else if (this.isHost && placement.epoch === own.epoch) {
      if (placement.host > own.host) this.#placement = placement;
      else this.stale = true;
    }
  }

  /**
   * What this device would announce now as host, for the plans at `urls`; null while it is being thought about, an
   * error where it cannot be.
   */
  decide(urls: readonly string[]): Decision | StarlingError | null {
    const { self, members, placer, links } = this.#options;
    const epoch = this.#placement?.epoch ?? 0;
    const willing = eligible(members, self, this.isHost ? epoch : epoch + 1, this.excluded);
    // Equal shares ask for no measurement, so that they need not wait for one.
    const measured = this.devices === 'best' ? willing.filter(({ id }) => links.isKnown(id)) : willing;
    return placer.decide(urls, measured, this.devices);
  }

  /** Makes this device the host of a new epoch, with the plan that it has open. */
  announce({ devices, shards }: Decision): void {
    const { self, members, follower, describePlan, broadcast } = this.#options;
    if (follower.plan === null) return;
    const { url, summary } = follower.plan;
    const known = this.#placement?.epoch ?? 0;
    const epochs = devices.map((id) => members.get(id)?.epoch ?? 0);
    this.stale = false;
    this.#placement = {
      type: 'placement',
      epoch: 1 + Math.max(known, ...epochs),
      host: self,
      plan: { ...describePlan(url), sha256: summary.sha256 },
      devices: [...devices],
      shards: shards.map((share) => [...share]),
    };
    broadcast(this.#placement);
    this.#changed = true;
  }

  /** Whether a placement announced now would give everybody what this one does. */
  isUpToDate(placement: Placement, decision: Decision): boolean {
    return decision.sha256 === placement.plan.sha256 && sameShares(decision, placement);
  }

  /** Whether everybody that this device's placement needs is still there, linked and willing. */
  stands(placement: Placement): boolean {
    const { self, members } = this.#options;
    return stands(placement, self, members) && !this.stale;
  }

  /** No shards for this device until it comes back with a new connection. */
  exclude(id: string, error: ErrorMessage | null): void {
    if (this.excluded.has(id)) return;
    this.excluded.set(id, error ?? { code: 'SESSION_FAILED', message: 'It could not load its shards.' });
    this.stale = true;
    this.#changed = true;
  }

  excludeFailed(placement: Placement): void {
    for (const id of placement.devices) {
      if (id === this.#options.self) continue;
      const load = this.loadOn(id, placement);
      if (load?.phase === 'failed') this.exclude(id, load.error);
    }
  }

  /** The load of a placement on one of its devices, as far as it is known. */
  loadOn(id: string, placement: Placement): LoadState | null {
    const { self, members, follower } = this.#options;
    return id === self ? follower.load : loadOf(members.get(id), placement);
  }

  isLoaded(placement: Placement): boolean {
    return placement.devices.every((id) => {
      const load = this.loadOn(id, placement);
      return load?.phase === 'ready' && load.epoch === placement.epoch;
    });
  }
}
