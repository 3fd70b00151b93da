/** A TURN server on the loopback, for pages that may only meet over one. Needs coturn; no root. */
import { spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';

export interface TurnServer {
  readonly port: number;
  readonly username: string;
  readonly credential: string;
  close(): void;
}

const loopback = '127.0.0.1';
const user = { username: 'starling', credential: 'only for this run' };

export function hasTurnServer(): boolean {
  return spawnSync('turnserver', ['--help']).error === undefined;
}

/** Clients send again until it listens. */
export async function startTurnServer(): Promise<TurnServer> {
  const port = await freePort();
  const server = spawn(
    'turnserver',
    [
      ...['-n', `--listening-ip=${loopback}`, `--relay-ip=${loopback}`, `--listening-port=${port}`],
      ...['--min-port=49160', '--max-port=49259', '--fingerprint', '--no-tls', '--no-dtls', '--no-cli'],
      ...['--lt-cred-mech', `--user=${user.username}:${user.credential}`, '--realm=starling.local'],
      ...['--no-multicast-peers', '--allow-loopback-peers', '--log-file=stdout', '--pidfile='],
    ],
    { stdio: 'ignore' },
  );
  return { port, ...user, close: () => void server.kill() };
}

async function freePort(): Promise<number> {
  const probe = createSocket('udp4');
  await new Promise<void>((resolve) => probe.bind(0, loopback, resolve));
  const { port } = probe.address();
  await new Promise<void>((resolve) => probe.close(resolve));
  return port;
}
