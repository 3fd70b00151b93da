/**
 * A TURN server whose clients reach it late: coturn behind a UDP proxy that holds every datagram back. Two pages that
 * may only meet there have a long way and no narrow one, as devices of two towns do. Needs coturn; no root.
 */
import { createSocket, type Socket } from 'node:dgram';
import { hasTurnServer, startTurnServer } from '../scripts/turnServer.ts';

export interface DelayedRelay {
  /** For `joinRoom`, with `iceTransportPolicy: 'relay'`. */
  readonly iceServers: readonly { urls: string; username: string; credential: string }[];
  close(): void;
}

const loopback = '127.0.0.1';

/**
 * Pages that meet over it are `roundTripMs` away from each other: a datagram passes the proxy twice in each direction.
 * Throws where coturn is not installed.
 */
export async function createDelayedRelay(roundTripMs: number): Promise<DelayedRelay> {
  if (!hasTurnServer()) throw new Error('coturn is not installed');
  const delayMs = roundTripMs / 4;
  const turn = await startTurnServer();
  const upstreams = new Map<string, Socket>();
  const proxy = createSocket('udp4');
  // The server may not be there yet, and ends before its clients do: they send again, or not any more.
  const ignore = (): void => undefined;
  let closed = false;
  const later = (send: () => void) =>
    setTimeout(() => {
      if (!closed) send();
    }, delayMs).unref();
  const upstreamOf = (address: string, port: number): Socket => {
    const key = `${address}:${port}`;
    const known = upstreams.get(key);
    if (known !== undefined) return known;
    const upstream = createSocket('udp4');
    upstream.on('error', ignore);
    upstream.on('message', (data) => later(() => proxy.send(data, port, address, ignore)));
    upstreams.set(key, upstream);
    return upstream;
  };
  proxy.on('error', ignore);
  proxy.on('message', (data, { address, port }) => {
    const upstream = upstreamOf(address, port);
    later(() => upstream.send(data, turn.port, loopback, ignore));
  });
  await new Promise<void>((resolve) => proxy.bind(0, loopback, resolve));
  const { username, credential } = turn;
  return {
    iceServers: [{ urls: `turn:${loopback}:${proxy.address().port}?transport=udp`, username, credential }],
    close() {
      closed = true;
      turn.close();
      proxy.close();
      for (const upstream of upstreams.values()) upstream.close();
    },
  };
}
