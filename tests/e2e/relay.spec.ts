/** Devices that may only meet over a TURN server: the server's own list of ICE servers, and one that the caller gives. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { hasTurnServer, startTurnServer, type TurnServer } from '../../scripts/turnServer.ts';
import { serve } from '../../signaling/serve.ts';
import type { SignalingServer } from '../../signaling/server.ts';
import type {} from '../../web/demo/main.ts';
import { expectRight, type RoomSite, runInPage, startRoomSite } from './support/roomSite.ts';

let site: RoomSite;
let turn: TurnServer | undefined;
/** The TURN server by this transport. */
let iceOver: (transport: 'udp' | 'tcp') => RTCIceServer;
let server: SignalingServer | null = null;

test.beforeAll(async () => {
  test.skip(!hasTurnServer(), 'coturn is not installed.');
  site = await startRoomSite(2);
  turn = await startTurnServer();
  const { port, username, credential } = turn;
  iceOver = (transport) => ({
    urls: [`turn:127.0.0.1:${port}?transport=${transport}`],
    username,
    credential,
  });
  const list = join(site.mounts['/plans'] ?? '', 'ice.json');
  await writeFile(list, JSON.stringify([iceOver('udp')]));
  const { '/': page = '', '/library': library = '', '/plan': plan = '' } = site.mounts;
  const folders = ['--dir', page, '--mount', `/library=${library}`, '--mount', `/plan=${plan}`];
  server = await serve([...folders, '--port', '0', '--host', '127.0.0.1', '--ice-servers', list], () => {});
});
test.afterAll(async () => {
  turn?.close();
  await server?.close();
  await site?.close();
});

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
    const iceServers = given === 'the caller' ? [iceOver('tcp')] : null;
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
