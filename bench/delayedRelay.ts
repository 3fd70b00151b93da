/**
 * A TURN server whose clients reach it late: coturn behind a UDP proxy that holds every datagram back. Two pages that
 * may only meet there have a long way and no narrow one, as devices of two towns do. Needs coturn; no root.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';

export interface DelayedRelay {
  /** For `joinRoom`, with `iceTransportPolicy: 'relay'`. */
  readonly iceServers: readonly { urls: string; username: string; credential: string }[];
  close(): void;
}

const loopback = '127.0.0.1';
const user = { username: 'bench', credential: 'only for this run' };

/**
 * Pages that meet over it are `roundTripMs` away from each other: a datagram passes the proxy twice in each direction.
 * Throws where coturn is not installed.
 */
export async function createDelayedRelay(roundTripMs: number): Promise<DelayedRelay> {
  if (spawnSync('turnserver', ['--help']).error !== undefined) throw new Error('coturn is not installed');
  const delayMs = roundTripMs / 4;
  const turnPort = await freePort();
  const turn = startTurn(turnPort);
  const upstreams = new Map<string, Socket>();
  const proxy = createSocket('udp4');
  // The server may not be there yet, and ends before its clients do: they send again, or not any more.
  const ignore = (): void => undefined;
  const later = (send: () => void) => setTimeout(send, delayMs).unref();
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
  let closed = false;
  proxy.on('error', ignore);
  proxy.on('message', (data, { address, port }) => {
    const upstream = upstreamOf(address, port);
    later(() => {
      if (!closed) upstream.send(data, turnPort, loopback, ignore);
    });
  });
  await new Promise<void>((resolve) => proxy.bind(0, loopback, resolve));
  return {
    iceServers: [{ urls: `turn:${loopback}:${proxy.address().port}?transport=udp`, ...user }],
    close() {
      closed = true;
      turn.kill();
      proxy.close();
      for (const upstream of upstreams.values()) upstream.close();
    },
  };
}

function startTurn(port: number): ChildProcess {
  return spawn(
    'turnserver',
    [
      ...['-n', `--listening-ip=${loopback}`, `--relay-ip=${loopback}`, `--listening-port=${port}`],
      ...['--min-port=49160', '--max-port=49259', '--fingerprint', '--no-tls', '--no-dtls', '--no-cli'],
      ...['--lt-cred-mech', `--user=${user.username}:${user.credential}`, '--realm=bench.local'],
      ...['--no-multicast-peers', '--allow-loopback-peers', '--log-file=stdout', '--pidfile='],
    ],
    { stdio: 'ignore' },
  );
}

async function freePort(): Promise<number> {
  const probe = createSocket('udp4');
  await new Promise<void>((resolve) => probe.bind(0, loopback, resolve));
  const { port } = probe.address();
  await new Promise<void>((resolve) => probe.close(resolve));
  return port;
}
