/** Devices that may only meet over a TURN server: the server's own list of ICE servers, and one that the caller gives. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { serve } from '../../signaling/serve.ts';
import type { SignalingServer } from '../../signaling/server.ts';
import type {} from '../../web/demo/main.ts';
import { expectRight, type RoomSite, runInPage, startRoomSite } from './support/roomSite.ts';

const credential = { username: 'test', credential: 'only for this test' };

let site: RoomSite;
let turn: ChildProcess;
let turnUrl: string;
let server: SignalingServer | null = null;

test.beforeAll(async () => {
  test.skip(spawnSync('turnserver', ['--help']).error !== undefined, 'coturn is not installed.');
  site = await startRoomSite(2);
  const port = await freePort();
  turnUrl = `turn:127.0.0.1:${port}?transport=udp`;
  turn = spawn('turnserver', [
    ...['-n', '--listening-ip=127.0.0.1', '--relay-ip=127.0.0.1', `--listening-port=${port}`],
    ...['--min-port=49160', '--max-port=49259', '--fingerprint', '--no-tls', '--no-dtls', '--no-cli'],
    ...['--lt-cred-mech', `--user=${credential.username}:${credential.credential}`, '--realm=test.local'],
    ...['--no-multicast-peers', '--allow-loopback-peers', '--log-file=stdout', '--pidfile='],
  ]);
  const list = join(site.mounts['/plans'] ?? '', 'ice.json');
  await writeFile(list, JSON.stringify([{ urls: [turnUrl], ...credential }]));
  const { '/': page = '', '/library': library = '', '/plan': plan = '' } = site.mounts;
  const folders = ['--dir', page, '--mount', `/library=${library}`, '--mount', `/plan=${plan}`];
  server = await serve([...folders, '--port', '0', '--host', '127.0.0.1', '--ice-servers', list], () => {});
});
test.afterAll(async () => {
  turn?.kill();
  await server?.close();
  await site?.close();
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return address !== null && typeof address === 'object' ? address.port : 0;
}

type Library = typeof import('../../web/index.ts');

/** A page of somebody else that takes part in a room by relays only. */
async function openRelayed(context: BrowserContext, room: string, iceServers: readonly object[] | null) {
  const page = await context.newPage();
  await page.goto(`${server?.url}/library/element.html`);
  await page.evaluate(
    async ({ room: name, iceServers: given }) => {
      const address = '/library/index.js';
      const { joinRoom } = (await import(address)) as Library;
      const joined = joinRoom({
        signaling: '/',
        room: name,
        threads: 1,
        devices: 'all',
        iceTransportPolicy: 'relay',
        ...(given === null ? {} : { iceServers: given as RTCIceServer[] }),
      });
      const session = joined.then((one) => one.load('/plan/plan.json'));
      globalThis.starling = { room: joined, session };
      await session;
    },
    { room, iceServers },
  );
  return page;
}

const paths = (page: Page) =>
  page.evaluate(async () => {
    const { devices } = await globalThis.starling.room;
    return devices.filter(({ state }) => state === 'ready').map(({ path }) => path);
  });

for (const given of ['the signaling server', 'the caller'] as const) {
  test(`two tabs meet over a relay that ${given} names`, async ({ context }) => {
    const iceServers =
      given === 'the caller' ? [{ urls: turnUrl.replace('udp', 'tcp'), ...credential }] : null;
    const room = given === 'the caller' ? 'given' : 'configured';
    const a = await openRelayed(context, room, iceServers);
    const b = await openRelayed(context, room, iceServers);
    for (const page of [a, b]) {
      await expect
        .poll(() => paths(page), { timeout: 30_000 })
        .toEqual(expect.arrayContaining(['relay', null]));
    }
    const [answer] = await runInPage(b, [51]);
    expect(answer).toMatchObject({ devices: 2, restarts: 0 });
    if (answer !== undefined) await expectRight(site, 51, answer);
  });
}
