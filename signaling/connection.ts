/**
 * One WebSocket of the signaling server: reads messages, holds the sender to its rates, answers errors.
 * Whatever comes in, only this connection bears the cost; who is in a room is rooms.ts.
 */
import type { WebSocket } from 'ws';
import { StarlingError } from '../protocol/errors.ts';
import { type IceServer, parseClientMessage, type ServerMessage } from '../protocol/signaling.ts';
import { type Member, memberId, type Rooms } from './rooms.ts';
import type { ServerLimits } from './serverLimits.ts';
import { TokenBucket } from './tokenBucket.ts';

/** Close codes of our own: 4000 to 4999 are free for applications. */
export const closeCodes = { refused: 4008, replaced: 4009, silent: 4010, tooMany: 4013 } as const;

/** Time in which a close frame may go out before the connection is cut. */
const farewellMs = 500;

export interface ConnectionContext {
  readonly rooms: Rooms;
  readonly limits: ServerLimits;
  readonly iceServers: readonly IceServer[];
  readonly now: () => number;
}

export interface Connection {
  /** To be called every `pingMs`: pings, or ends a connection that has been silent for `presenceMs`. */
  check(): void;
  end(): void;
}

export function createConnection(socket: WebSocket, context: ConnectionContext): Connection {
  const { rooms, limits, now } = context;
  const rate = new TokenBucket(limits.messagesPerSecond, limits.messageBurst, now);
  const patience = new TokenBucket(limits.refusalsPerSecond, limits.refusalBurst, now);
  let member: Member | null = null;
  let heardAt = now();
  let outsideSince = now();

  function send(message: ServerMessage): void {
    if (socket.readyState !== socket.OPEN) return;
    // A member that does not read must not fill the memory of all; its end comes through `close`.
    if (socket.bufferedAmount > limits.bufferedBytes) socket.terminate();
    else socket.send(JSON.stringify(message));
  }

  function leave(reason: 'left' | 'lost'): void {
    const leaving = member;
    member = null;
    outsideSince = now();
    if (leaving !== null) rooms.leave(leaving, reason);
  }

  function refuse(error: StarlingError): void {
    send({ type: 'error', ...error.toJSON() });
    if (patience.take()) return;
    // What is already on its way from a flooder is dropped unread; the pause lets the reason go out.
    leave('lost');
    socket.close(closeCodes.refused, 'too many refused messages');
    socket.pause();
    setTimeout(() => socket.terminate(), farewellMs).unref();
  }

  function join(room: string, ticket: string): void {
    if (member !== null) {
      throw new StarlingError(
        'MESSAGE_INVALID',
        `One join was expected on a connection, but it is in room "${member.room}" already; leave first.`,
      );
    }
    const joining: Member = {
      id: memberId(room, ticket),
      room,
      send,
      replaced: () => {
        member = null;
        socket.close(closeCodes.replaced, 'this member has joined again');
      },
    };
    rooms.join(joining, (members) => {
      member = joining;
      send({
        type: 'joined',
        id: joining.id,
        members: [...members],
        iceServers: [...context.iceServers],
        pingMs: limits.pingMs,
      });
    });
  }

  function handle(text: string): void {
    const message = parseClientMessage(text, limits.messageBytes);
    if (message.type === 'join') join(message.room, message.ticket);
    else if (message.type === 'leave') leave('left');
    else if (message.type === 'ping') send({ type: 'pong' });
    else if (member !== null) rooms.relay(member, message.to, message.payload);
    else throw new StarlingError('MESSAGE_INVALID', 'A join was expected first, but a signal came.');
  }

  socket.on('message', (data, isBinary) => {
    heardAt = now();
    if (socket.readyState !== socket.OPEN) return;
    try {
      if (!rate.take()) {
        throw new StarlingError(
          'RATE_LIMITED',
          `At most ${limits.messagesPerSecond} messages a second were expected, but more came; this one is dropped.`,
        );
      }
      if (isBinary) {
        throw new StarlingError('MESSAGE_INVALID', 'A message must be JSON text, but binary data came.');
      }
      handle(data.toString());
    } catch (thrown) {
      refuse(StarlingError.from(thrown, 'INTERNAL', 'The signaling server failed at a message'));
    }
  });
  socket.on('pong', () => {
    heardAt = now();
  });
  // The library reports a broken frame or a too long message here, then closes.
  socket.on('error', () => {});
  socket.on('close', () => leave('lost'));

  return {
    check() {
      const silentMs = now() - (member === null ? outsideSince : heardAt);
      if (silentMs < limits.presenceMs) {
        socket.ping();
        return;
      }
      leave('lost');
      socket.close(closeCodes.silent, 'silent, or in no room, for too long');
      setTimeout(() => socket.terminate(), farewellMs).unref();
    },
    end() {
      member = null;
      socket.close(1001, 'the server is closing');
      socket.terminate();
    },
  };
}
