/** On which devices the next instance lives: a pure function of who is there and what the others hold. */
import { type Candidate, equalShares, type Shares } from '../placement.ts';

export interface InstanceRoom {
  /** The page that has the runs: it feeds every instance, with shards of its own or without. */
  readonly self: string;
  readonly candidates: readonly Candidate[];
  readonly numShards: number;
}

/** What is known of the devices' memory, from what they refused. */
export interface InstanceCapacity {
  /** Of how many instances a device holds shards, at most; devices that are not listed have refused nothing. */
  readonly partsOf: ReadonlyMap<string, number>;
  /** Instances that the host can feed. */
  readonly most: number;
}

export const unlimited: InstanceCapacity = { partsOf: new Map(), most: Number.POSITIVE_INFINITY };

/** What follows from a device that had no memory for its part of `refused`, beside its parts of `others`. */
export function lessCapacity(
  known: InstanceCapacity,
  device: string,
  refused: Shares,
  others: readonly Shares[],
): InstanceCapacity {
  if (!holders(refused).includes(device)) return { ...known, most: Math.min(known.most, others.length) };
  const parts = others.filter((other) => holders(other).includes(device)).length;
  return { ...known, partsOf: new Map([...known.partsOf, [device, parts]]) };
}

/** Devices that may hold shards, this one first. */
export function usableDevices({ self, candidates }: Omit<InstanceRoom, 'numShards'>): string[] {
  const others = candidates.filter(({ mayStop, links }) => !mayStop && links.includes(self));
  return [self, ...others.map(({ id }) => id).sort()];
}

/**
 * So many devices with equal shares, or as many as there are, fewest shards held by `others` first: 1 is a whole model
 * on one device. A device takes part only if it is linked with every other that does. Null where devices have no memory
 * for one more.
 */
export function placeInstance(
  room: InstanceRoom,
  devicesPerInstance: number,
  others: readonly Shares[],
  capacity: InstanceCapacity = unlimited,
): Shares | null {
  const { self, candidates, numShards } = room;
  if (others.length >= capacity.most) return null;
  const linksOf = new Map(candidates.map(({ id, links }) => [id, links]));
  const isLinked = (a: string, b: string) =>
    (a === self || linksOf.get(a)?.includes(b) === true) &&
    (b === self || linksOf.get(b)?.includes(a) === true);
  const held = heldShards(others);
  // A stable sort: of equals this device, then by id.
  const order = usableDevices(room).sort((a, b) => (held.get(a) ?? 0) - (held.get(b) ?? 0));
  const parts = (id: string) => others.filter((other) => holders(other).includes(id)).length;
  const members: string[] = [];
  let isFull = false;
  for (const id of order) {
    if (members.length >= Math.min(devicesPerInstance, numShards)) break;
    if (parts(id) >= (capacity.partsOf.get(id) ?? Number.POSITIVE_INFINITY)) isFull = true;
    else if (members.every((member) => isLinked(member, id))) members.push(id);
  }
  // Over fewer devices than were asked for the shares would be larger still.
  if (isFull && members.length < Math.min(devicesPerInstance, numShards)) return null;
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
