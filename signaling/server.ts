/**
 * The one process that pairs pages and serves them: HTTP or HTTPS for files and health, a WebSocket at
 * `/signaling` on the same port. It relays offers and never sees a tensor.
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { StarlingError } from '../protocol/errors.ts';
import type { IceServer } from '../protocol/signaling.ts';
import { protocolVersion } from '../protocol/version.ts';
import { type Connection, closeCodes, createConnection } from './connection.ts';
import type { Mounts } from './findFile.ts';
import { Rooms } from './rooms.ts';
import { type ServerLimits, serverLimits } from './serverLimits.ts';
import { sendText, serveFile } from './staticFiles.ts';

export interface SignalingServerOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Address to listen on; the default, 127.0.0.1, is not seen from other devices. */
  readonly host?: string;
  /** The built page, served at `/`. */
  readonly staticDir?: string;
  /** More directories by the prefix of their address: `{'/models': directory}`. */
  readonly mounts?: Mounts;
  /** Told to every member; none by default. */
  readonly iceServers?: readonly IceServer[];
  /** PEM texts; with them the server speaks HTTPS. */
  readonly https?: { readonly key: string; readonly cert: string };
  readonly limits?: Partial<ServerLimits>;
  /** Milliseconds that never go back, for rates and presence. */
  readonly now?: () => number;
}

export interface SignalingServer {
  /** Of the page; the WebSocket is at `/signaling` below it. */
  readonly url: string;
  readonly port: number;
  /** Cuts all connections off and frees the port. */
  close(): Promise<void>;
}

/** @throws StarlingError ADDRESS_UNAVAILABLE where the port is taken or may not be used */
export async function createSignalingServer(options: SignalingServerOptions = {}): Promise<SignalingServer> {
  const { port = 0, host = '127.0.0.1', https, now = () => performance.now() } = options;
  const limits: ServerLimits = { ...serverLimits, ...options.limits };
  const mounts: Mounts = {
    ...(options.staticDir === undefined ? {} : { '/': options.staticDir }),
    ...options.mounts,
  };
  const startedAt = now();
  const rooms = new Rooms(limits);
  const context = { rooms, limits, iceServers: options.iceServers ?? [], now };
  const connections = new Map<Connection, string>();

  function answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.url?.split('?', 1)[0] !== '/healthz') {
      void serveFile(request, response, mounts).catch(() => response.destroy());
      return;
    }
    const health = {
      status: 'ok',
      protocolVersion,
      rooms: rooms.numRooms,
      members: rooms.numMembers,
      connections: connections.size,
      uptimeMs: Math.round(now() - startedAt),
    };
    sendText(response, 200, `${JSON.stringify(health)}\n`, {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': 'no-store',
    });
  }

  const server = https === undefined ? createHttpServer(answer) : createHttpsServer(https, answer);
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    // A message that is somewhat too long is answered; one that is far too long is not even received.
    maxPayload: 4 * limits.messageBytes,
  });

  function accept(socket: WebSocket, address: string): void {
    const fromThere = [...connections.values()].filter((other) => other === address).length;
    if (connections.size >= limits.connections || fromThere >= limits.connectionsPerAddress) {
      socket.on('error', () => {});
      const error = new StarlingError(
        'RATE_LIMITED',
        'This server has as many connections as it takes, or as many from this address; try again later.',
      );
      socket.send(JSON.stringify({ type: 'error', ...error.toJSON() }));
      socket.close(closeCodes.tooMany, 'too many connections');
      return;
    }
    const connection = createConnection(socket, context);
    connections.set(connection, address);
    socket.on('close', () => connections.delete(connection));
  }

  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on('error', () => {});
    if (request.url?.split('?', 1)[0] !== '/signaling') {
      stream.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const address = request.socket.remoteAddress ?? 'unknown';
    sockets.handleUpgrade(request, stream, head, (socket) => accept(socket, address));
  });

  const listening = await listen(server, port, host);
  const checks = setInterval(() => {
    for (const connection of connections.keys()) connection.check();
  }, limits.pingMs);
  checks.unref();

  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return {
    url: `${https === undefined ? 'http' : 'https'}://${shown}:${listening.port}`,
    port: listening.port,
    close: () =>
      new Promise((resolve) => {
        clearInterval(checks);
        for (const connection of connections.keys()) connection.end();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Server = ReturnType<typeof createHttpServer> | ReturnType<typeof createHttpsServer>;

function listen(server: Server, port: number, host: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.on('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? `Port ${port} is in use by another program; stop that one or choose a port with --port.`
          : error.code === 'EACCES'
            ? `This user may not listen on port ${port}; choose one above 1023 with --port.`
            : `Listening on ${host}, port ${port}, is not possible: ${error.message}.`;
      reject(new StarlingError('ADDRESS_UNAVAILABLE', reason, { cause: error }));
    });
    server.listen(port, host, () => {
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address);
      else reject(new StarlingError('INTERNAL', 'The server listens, but has no address.'));
    });
  });
}
