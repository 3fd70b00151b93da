/**
 * Whose turn it is to be host. A page with runs of its own claims the role, and takes it when the host is gone, has
 * nothing to do, or has held it long enough while others wait.
 */
import { limits } from '../../protocol/limits.ts';
import type { Clock } from '../clock.ts';
import type { Epochs } from './epochs.ts';
import { idsWhere, type Members } from './members.ts';
import type { Decision } from './placer.ts';
import type { WakeUp } from './wakeUp.ts';

export interface HostRoleOptions {
  readonly self: string;
  readonly members: Members;
  readonly epochs: Epochs;
  readonly clock: Clock;
  readonly wakeUp: WakeUp;
}

export class HostRole {
  readonly #options: HostRoleOptions;
  #hostSince = 0;
  #claimedSince: number | null = null;

  constructor(options: HostRoleOptions) {
    this.#options = options;
  }

  /** Notes since when somebody waits for the role: this device itself, or, on the host, any other. */
  note(ownClaim: boolean): void {
    const { members, self, epochs, clock } = this.#options;
    const claimed = epochs.isHost
      ? idsWhere(members, (status) => status.claiming, self, false).length > 0
      : ownClaim;
    if (!claimed) this.#claimedSince = null;
    else this.#claimedSince ??= clock.now();
  }

  /** For a device that is not host and has a session. */
  mayTake(ownClaim: boolean): boolean {
    const { members, self, epochs, clock, wakeUp } = this.#options;
    const { placement, hostPresent } = epochs;
    if (!hostPresent) {
      // Who follows another host, one that this device does not see, will not be host itself.
      const candidates = idsWhere(members, (s) => s.session && s.load === null, self, true);
      return candidates[0] === self;
    }
    if (!ownClaim || placement === null) return false;
    if (wakeUp.isPast((this.#claimedSince ?? clock.now()) + limits.hostClaimMs)) return true;
    // What the host said before it announced this placement does not count, or two pages overtake each other forever.
    const host = members.get(placement.host) ?? null;
    if (host === null || host.busy || host.epoch < placement.epoch) return false;
    return idsWhere(members, (s) => s.claiming, self, true)[0] === self;
  }

  take(decision: Decision): void {
    this.#hostSince = this.#options.clock.now();
    this.#claimedSince = null;
    this.#options.epochs.announce(decision);
  }

  /** Long enough host, with others waiting: starts no further run until one of them has taken over. */
  yields(): boolean {
    if (this.#claimedSince === null) return false;
    const since = Math.max(this.#hostSince, this.#claimedSince);
    return this.#options.wakeUp.isPast(since + limits.hostHoldMs);
  }
}
