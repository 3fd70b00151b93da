/** Simulated rooms that are ready for use, their pages by id, and promises that are watched without being waited for. */
import type { StarlingError } from '../../../protocol/errors.ts';
import { SimulatedRoom } from './simulatedRoom.ts';

export const url = 'http://localhost/plan.json';

/** What became of a promise, without waiting for it. */
export function watch<T>(promise: Promise<T>): {
  outcome: 'pending' | 'answer' | string;
  times: number;
  value?: T;
} {
  const seen: { outcome: string; times: number; value?: T } = { outcome: 'pending', times: 0 };
  promise.then(
    (value) => Object.assign(seen, { outcome: 'answer', value, times: seen.times + 1 }),
    (error: StarlingError) => Object.assign(seen, { outcome: error.code, times: seen.times + 1 }),
  );
  return seen;
}

export async function roomOf(...ids: string[]): Promise<SimulatedRoom> {
  const room = new SimulatedRoom();
  for (const id of ids) room.add(id);
  room.connectAll();
  await room.settle();
  return room;
}

export const pageOf = (room: SimulatedRoom, id: string) => {
  const coordinator = room.coordinators.get(id);
  const device = room.devices.get(id);
  if (coordinator === undefined || device === undefined) throw new Error(`no page ${id}`);
  return { coordinator, device };
};
