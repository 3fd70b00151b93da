/**
 * Which devices of a room can work together, and equal shares for them: pure functions of who is there. What was
 * measured counts in choosePlacement.ts; when a placement is taken up is coordinator/'s.
 */

export interface Candidate {
  readonly id: string;
  /** Devices to which it has an open tensor channel. */
  readonly links: readonly string[];
  /** May be stopped at any moment: gets no shards. */
  readonly mayStop: boolean;
}

export interface Shares {
  readonly devices: readonly string[];
  readonly shards: readonly (readonly number[])[];
}

/**
 * The other devices that may take part, by id. A device does only if it is linked, in both directions, with the host
 * and every device that already does.
 */
export function linkedGroup(host: string, others: readonly Candidate[]): string[] {
  const members: Candidate[] = [];
  const sorted = others.filter(({ mayStop }) => !mayStop).sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const candidate of sorted) {
    const linked = members.every(
      (member) => member.links.includes(candidate.id) && candidate.links.includes(member.id),
    );
    if (linked && candidate.links.includes(host)) members.push(candidate);
  }
  return members.map(({ id }) => id);
}

/**
 * Equal contiguous shares of `numShards` shards, in the order of the devices. The first hold one shard more where the
 * numbers do not divide; devices for which no shard is left are not in the result.
 */
export function shareEqually(numShards: number, candidates: readonly string[]): Shares {
  const devices = candidates.slice(0, Math.max(1, numShards));
  return { devices, shards: equalShares(numShards, devices.length) };
}

/** The numbers 0 to `numShards` - 1 cut into `count` contiguous runs whose lengths differ by at most one. */
export function equalShares(numShards: number, count: number): number[][] {
  const shares: number[][] = [];
  let next = 0;
  for (let i = 0; i < count; i++) {
    const length = Math.floor(numShards / count) + (i < numShards % count ? 1 : 0);
    shares.push(Array.from({ length }, (_, k) => next + k));
    next += length;
  }
  return shares;
}

export function sameShares(a: Shares, b: Shares): boolean {
  return (
    a.devices.length === b.devices.length &&
    a.devices.every((id, i) => id === b.devices[i] && a.shards[i]?.join() === b.shards[i]?.join())
  );
}
