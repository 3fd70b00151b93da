/**
 * Questions about the other devices of a room, answered from what they last said: who may hold shards, whether
 * a placement still stands, whose turn it is to be host. Pure functions; the decisions are in decisions.ts.
 */
import type { DeviceStatus, ErrorMessage, Placement } from '../../protocol/roomMessages.ts';
import type { Candidate } from '../placement.ts';

/** The connected devices, this one not included; null until one has said something. */
export type Members = ReadonlyMap<string, DeviceStatus | null>;

/** Devices that a host may give shards: not excluded, and not following another host with a newer placement. */
export function eligible(
  members: Members,
  self: string,
  /** The host's own epoch, or the one it would announce. */
  epoch: number,
  excluded: ReadonlyMap<string, ErrorMessage>,
): Candidate[] {
  const candidates: Candidate[] = [];
  for (const [id, status] of members) {
    if (status === null || excluded.has(id)) continue;
    const { load, links, mayStop } = status;
    const taken = load !== null && load.host !== self && load.epoch >= epoch;
    if (!taken) candidates.push({ id, links, mayStop });
  }
  return candidates;
}

/** The load of a placement on one device, as far as that device has reported it. */
export function loadOf(status: DeviceStatus | null | undefined, placement: Placement): DeviceStatus['load'] {
  const load = status?.load ?? null;
  return load !== null && load.epoch === placement.epoch && load.host === placement.host ? load : null;
}

/** Whether every other device of a placement is still there, linked with the rest, and has not failed. */
export function stands(placement: Placement, self: string, members: Members): boolean {
  const others = placement.devices.filter((id) => id !== self);
  return others.every((id) => {
    const status = members.get(id);
    if (status === null || status === undefined || loadOf(status, placement)?.phase === 'failed')
      return false;
    return placement.devices.every((other) => other === id || status.links.includes(other));
  });
}

/** Ids of the devices, this one included if `own` says so, that fulfil a condition, sorted. */
export function idsWhere(
  members: Members,
  condition: (status: DeviceStatus) => boolean,
  self: string,
  own: boolean,
): string[] {
  const ids = own ? [self] : [];
  for (const [id, status] of members) if (status !== null && condition(status)) ids.push(id);
  return ids.sort();
}
