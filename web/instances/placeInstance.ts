/** On which devices the next instance lives: a pure function of who is there and what the others hold. */
import { type Candidate, equalShares, type Shares } from '../placement.ts';

export interface InstanceRoom {
  /** The page that has the runs: it feeds every instance, with shards of its own or without. */
  readonly self: string;
  readonly candidates: readonly Candidate[];
  readonly numShards: number;
}

/** Devices that may hold shards, this one first. */
export function usableDevices({ self, candidates }: Omit<InstanceRoom, 'numShards'>): string[] {
  const others = candidates.filter(({ mayStop, links }) => !mayStop && links.includes(self));
  return [self, ...others.map(({ id }) => id).sort()];
}

/**
 * So many devices with equal shares, or as many as there are, fewest shards held by `others` first: 1 is a whole model
 * on one device. A device takes part only if it is linked with every other that does.
 */
export function placeInstance(
  room: InstanceRoom,
  devicesPerInstance: number,
  others: readonly Shares[],
): Shares {
  const { self, candidates, numShards } = room;
  const linksOf = new Map(candidates.map(({ id, links }) => [id, links]));
  const isLinked = (a: string, b: string) =>
    (a === self || linksOf.get(a)?.includes(b) === true) &&
    (b === self || linksOf.get(b)?.includes(a) === true);
  const held = heldShards(others);
  // A stable sort: of equals this device, then by id.
  const order = usableDevices(room).sort((a, b) => (held.get(a) ?? 0) - (held.get(b) ?? 0));
  const members: string[] = [];
  for (const id of order) {
    if (members.length >= Math.min(devicesPerInstance, numShards)) break;
    if (members.every((member) => isLinked(member, id))) members.push(id);
  }
  const shards = equalShares(numShards, members.length);
  return members.includes(self)
    ? { devices: members, shards }
    : { devices: [self, ...members], shards: [[], ...shards] };
}

function heldShards(instances: readonly Shares[]): Map<string, number> {
  const held = new Map<string, number>();
  for (const { devices, shards } of instances) {
    devices.forEach((id, i) => {
      held.set(id, (held.get(id) ?? 0) + (shards[i]?.length ?? 0));
    });
  }
  return held;
}

/** Devices of a placement that hold shards. */
export function holders({ devices, shards }: Shares): string[] {
  return devices.filter((_, i) => (shards[i]?.length ?? 0) > 0);
}
