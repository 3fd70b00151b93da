/**
 * One WebSocket that has joined a room, from opening to close; it is never brought back. What comes after is
 * signalingClient.ts.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import { type ClientMessage, parseServerMessage, type ServerMessage } from '../../protocol/signaling.ts';
import { protocolVersion } from '../../protocol/version.ts';

export type Joined = Extract<ServerMessage, { type: 'joined' }>;

export interface MembershipOptions {
  /** Of the WebSocket. */
  readonly address: string;
  readonly room: string;
  readonly ticket: string;
  readonly createSocket: (address: string) => WebSocket;
  /** Ends the joining only. */
  readonly signal: AbortSignal;
  /** In the task in which the server's word arrives, so that no later message is before it. */
  onJoined(membership: Membership): void;
  /** Everything after `joined`; a message that cannot be read comes as an error. */
  onMessage(message: Exclude<ServerMessage, Joined>): void;
  /** Once, after the joining has succeeded, unless `close` is called first. */
  onLost(error: StarlingError): void;
}

export interface Membership {
  readonly joined: Joined;
  send(message: ClientMessage): boolean;
  close(): void;
}

/**
 * @throws StarlingError SIGNALING_UNREACHABLE, or the server's own: ROOM_FULL, ROOM_LIMIT, PROTOCOL_VERSION, ...;
 *   the signal's reason
 */
export function openMembership(options: MembershipOptions): Promise<void> {
  const { address, room, ticket, signal } = options;
  return new Promise((resolve, reject) => {
    let state: 'joining' | 'joined' | 'over' = 'joining';
    let socket: WebSocket;
    try {
      signal.throwIfAborted();
      socket = options.createSocket(address);
    } catch (thrown) {
      reject(
        signal.aborted ? thrown : unreachable(address, 'the browser does not allow this address', thrown),
      );
      return;
    }
    const timer = setTimeout(
      () => fail(unreachable(address, 'it did not answer in time')),
      limits.signalingConnectMs,
    );

    function end(): void {
      state = 'over';
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.close();
    }

    function fail(reason: unknown): void {
      if (state !== 'joining') return;
      end();
      reject(reason);
    }

    function onAbort(): void {
      fail(signal.reason);
    }

    function send(message: ClientMessage): boolean {
      if (state === 'over' || socket.readyState !== 1) return false;
      socket.send(JSON.stringify(message));
      return true;
    }

    function receive(data: unknown): void {
      let message: ServerMessage;
      try {
        message = parseServerMessage(typeof data === 'string' ? data : '');
      } catch (thrown) {
        const { code, message: text } = StarlingError.from(thrown, 'MESSAGE_INVALID');
        message = { type: 'error', code, message: text };
      }
      if (state === 'joined' && message.type !== 'joined') options.onMessage(message);
      else if (state !== 'joining') return;
      else if (message.type === 'error') fail(new StarlingError(message.code, message.message));
      else if (message.type === 'joined') {
        state = 'joined';
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        options.onJoined({ joined: message, send, close: leave });
        resolve();
      }
    }

    function leave(): void {
      send({ type: 'leave' });
      end();
    }

    signal.addEventListener('abort', onAbort);
    socket.onopen = () => send({ type: 'join', protocolVersion, room, ticket });
    socket.onmessage = (event) => receive(event.data);
    // An error says nothing by design of the web and is always followed by a close.
    socket.onerror = () => {};
    socket.onclose = (event) => {
      const why = event.reason === '' ? 'nobody answers there' : event.reason;
      if (state === 'joining') return fail(unreachable(address, why));
      if (state === 'over') return;
      end();
      options.onLost(unreachable(address, event.reason === '' ? 'the connection was cut' : event.reason));
    };
  });
}

/** One sentence for people: where, why, what to do. */
export function unreachable(address: string, why: string, cause?: unknown): StarlingError {
  return new StarlingError(
    'SIGNALING_UNREACHABLE',
    `The signaling server at ${address} cannot be reached (${why}); check that it runs and that this device is in its network.`,
    { cause },
  );
}
