/**
 * Who is in which room, and what the others hear of it. It knows members by their id and a way to send to
 * them; sockets, JSON and rates are connection.ts.
 */
import { createHash } from 'node:crypto';
import { StarlingError } from '../protocol/errors.ts';
import type { Departure, ServerMessage, SignalPayload } from '../protocol/signaling.ts';
import type { ServerLimits } from './serverLimits.ts';

/** One connection that has joined. */
export interface Member {
  readonly id: string;
  readonly room: string;
  send(message: ServerMessage): void;
  /** The same member has come back on another connection; this one is of no use any more. */
  replaced(): void;
}

/**
 * 32 hexadecimal digits that only the owner of the ticket can have, in this room: nobody can guess or choose
 * an id, and a page that comes back (even to a restarted server) is the member it was.
 */
export function memberId(room: string, ticket: string): string {
  return createHash('sha256').update(`starling member\0${room}\0${ticket}`).digest('hex').slice(0, 32);
}

export class Rooms {
  readonly #limits: Pick<ServerLimits, 'rooms' | 'roomMembers'>;
  readonly #rooms = new Map<string, Map<string, Member>>();

  constructor(limits: Pick<ServerLimits, 'rooms' | 'roomMembers'>) {
    this.#limits = limits;
  }

  get numRooms(): number {
    return this.#rooms.size;
  }

  get numMembers(): number {
    let count = 0;
    for (const members of this.#rooms.values()) count += members.size;
    return count;
  }

  /**
   * Makes the room with its first member; `welcome` runs before the others hear of the new one.
   * @throws StarlingError ROOM_FULL, ROOM_LIMIT
   */
  join(member: Member, welcome: (others: readonly string[]) => void): void {
    let members = this.#rooms.get(member.room);
    const before = members?.get(member.id);
    if (members === undefined && this.#rooms.size >= this.#limits.rooms) {
      throw new StarlingError(
        'ROOM_LIMIT',
        `This server holds ${this.#limits.rooms} rooms and all are taken; try again later or start a server of your own.`,
      );
    }
    if (members !== undefined && before === undefined && members.size >= this.#limits.roomMembers) {
      throw new StarlingError(
        'ROOM_FULL',
        `A room holds ${this.#limits.roomMembers} devices and "${member.room}" has as many; close one or use another room.`,
      );
    }
    if (members === undefined) {
      members = new Map();
      this.#rooms.set(member.room, members);
    }
    members.set(member.id, member);
    before?.replaced();
    const others = [...members.values()].filter((other) => other !== member);
    welcome(others.map((other) => other.id));
    // A member that was replaced never left for the others.
    if (before !== undefined) return;
    for (const other of others) other.send({ type: 'member-joined', id: member.id });
  }

  leave(member: Member, reason: Departure): void {
    const members = this.#rooms.get(member.room);
    if (members?.get(member.id) !== member) return;
    members.delete(member.id);
    if (members.size === 0) this.#rooms.delete(member.room);
    for (const other of members.values()) other.send({ type: 'member-left', id: member.id, reason });
  }

  /** @throws StarlingError PEER_LOST where no such member is in the sender's room */
  relay(from: Member, to: string, payload: SignalPayload): void {
    const receiver = to === from.id ? undefined : this.#rooms.get(from.room)?.get(to);
    if (receiver === undefined) {
      throw new StarlingError(
        'PEER_LOST',
        `A message was to go to member ${to}, but no other member of that name is in this room.`,
      );
    }
    receiver.send({ type: 'signal', from: from.id, payload });
  }
}
