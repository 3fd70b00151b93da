/** What a mesh knows of one other member. When an attempt is made is mesh.ts'. */
import type { Capabilities } from '../../protocol/control.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { MeshPeer } from './meshApi.ts';
import type { Peer } from './peer.ts';
import type { LinkPath } from './simplePeer.ts';

/** The connection to one other member, through all its attempts. */
export class MeshEntry implements MeshPeer {
  readonly deviceId: string;
  state: MeshPeer['state'] = 'waiting';
  capabilities: Capabilities | null = null;
  peer: Peer | null = null;
  /** Attempts that failed in a row, for the time until the next. */
  failures = 0;
  final = false;
  /** Offers that have been looked at: a server that sends one again changes nothing. */
  readonly offers = new Set<string>();
  /** The next attempt, or on the other side the end of patience with who should make it. */
  cancelTimer: () => void = () => {};

  constructor(deviceId: string) {
    this.deviceId = deviceId;
  }

  get path(): LinkPath | null {
    return this.peer?.path ?? null;
  }

  get roundTripMs(): number | null {
    return this.peer?.roundTripMs ?? null;
  }
}

export function entryName(entry: MeshEntry): string {
  return `Device ${entry.deviceId.slice(0, 8)}`;
}

export function unreachable(entry: MeshEntry, why: string): StarlingError {
  return new StarlingError('PEER_UNREACHABLE', `${entryName(entry)} could not be reached: ${why}.`);
}
