/**
 * Which device holds which shards: a pure function of who is there. Equal shares; it measures nothing
 * and decides nothing about when a placement is taken up (see coordinator/).
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
 * Equal contiguous shares of `numShards` shards: the host first, then the other devices by id. A device takes
 * part only if it is linked, in both directions, with every device that already does. The first devices hold one
 * shard more where the numbers do not divide; devices for which no shard is left are not in the result.
 */
export function placeShards(numShards: number, host: string, others: readonly Candidate[]): Shares {
  const members: Candidate[] = [];
  const sorted = others.filter(({ mayStop }) => !mayStop).sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const candidate of sorted) {
    const linked = members.every(
      (member) => member.links.includes(candidate.id) && candidate.links.includes(member.id),
    );
    if (linked && candidate.links.includes(host)) members.push(candidate);
  }
  const devices = [host, ...members.map(({ id }) => id)].slice(0, Math.max(1, numShards));
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
