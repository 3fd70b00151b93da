/** The mesh over real connections between tabs of a real browser, through a real signaling server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { build } from 'vite';
import { createSignalingServer, type SignalingServer } from '../../signaling/server.ts';
import type {} from './peers/peersPage.ts';

let directory: string;
let server: SignalingServer;

test.beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'starling-peers-'));
  await build({
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    build: {
      outDir: directory,
      emptyOutDir: true,
      target: 'es2022',
      lib: {
        entry: fileURLToPath(new URL('./peers/peersPage.ts', import.meta.url)),
        formats: ['es'],
        fileName: () => 'page.js',
      },
    },
  });
  await writeFile(
    join(directory, 'index.html'),
    '<!doctype html><title>peers</title><script type="module" src="page.js"></script>',
  );
  server = await createSignalingServer({ staticDir: directory });
});
test.afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true });
});

type JoinOptions = Parameters<Window['peersPage']['join']>[0];

async function tab(context: BrowserContext, options: JoinOptions): Promise<{ page: Page; id: string }> {
  const page = await context.newPage();
  await page.goto(`${server.url}/`);
  await page.waitForFunction(() => window.peersPage !== undefined);
  const id = await page.evaluate((o) => window.peersPage.join(o), options);
  return { page, id };
}

const connected = (page: Page) => page.evaluate(() => window.peersPage.connectedTo());
const events = (page: Page) => page.evaluate(() => window.peersPage.events);

test('two tabs connect, talk, and give their tensor channels to Workers', async ({ context }) => {
  const startedAt = Date.now();
  const a = await tab(context, { room: 'pair' });
  const b = await tab(context, { room: 'pair' });
  await expect.poll(() => connected(a.page)).toEqual([b.id]);
  await expect.poll(() => connected(b.page)).toEqual([a.id]);
  test.info().annotations.push({ type: 'connected after', description: `${Date.now() - startedAt} ms` });
  await a.page.evaluate((id) => window.peersPage.mesh().send(id, { type: 'status', number: 1 }), b.id);
  await b.page.evaluate(() => window.peersPage.mesh().broadcast({ type: 'status', number: 2 }));
  await expect.poll(async () => (await events(b.page)).at(-1)?.text).toBe('{"type":"status","number":1}');
  await expect.poll(async () => (await events(a.page)).at(-1)?.text).toBe('{"type":"status","number":2}');
  // What a Worker greets with names the device that should get it.
  for (const { page, id } of [a, b]) {
    await expect.poll(() => page.evaluate(() => window.peersPage.tensors)).toEqual([`tensors for ${id}`]);
  }
  await expect
    .poll(() => a.page.evaluate((id) => window.peersPage.mesh().peers.get(id)?.roundTripMs ?? -1, b.id))
    .toBeGreaterThan(0);
  for (const { page } of [a, b]) await page.close();
});

test('a tab that says bye, and one that is just closed, are both missed by the others', async ({
  context,
}) => {
  const tabs = [];
  for (let i = 0; i < 3; i++) tabs.push(await tab(context, { room: 'three' }));
  const [a, b, c] = tabs;
  if (a === undefined || b === undefined || c === undefined) throw new Error('Three tabs were opened.');
  await expect.poll(async () => (await connected(a.page)).sort()).toEqual([b.id, c.id].sort());
  await expect.poll(async () => (await connected(b.page)).sort()).toEqual([a.id, c.id].sort());
  await c.page.evaluate(() => {
    window.peersPage.mesh().close();
    window.peersPage.signaling().close();
  });
  for (const { page } of [a, b]) {
    await expect
      .poll(async () => (await events(page)).at(-1))
      .toEqual({ type: 'peer-left', deviceId: c.id, text: '', code: '' });
  }
  const closedAt = Date.now();
  await b.page.close();
  const lost = { type: 'peer-lost', deviceId: b.id, code: 'PEER_LOST' };
  await expect.poll(() => events(a.page)).toContainEqual(expect.objectContaining(lost));
  expect(Date.now() - closedAt).toBeLessThan(4000);
  await expect.poll(() => a.page.evaluate(() => window.peersPage.mesh().peers.size)).toBe(0);
  for (const { page } of [a, c]) await page.close();
});

test('a shared secret connects; another, none, or a changed fingerprint does not', async ({ context }) => {
  const secret = 'correct horse';
  const a = await tab(context, { room: 'secret', secret });
  const b = await tab(context, { room: 'secret', secret });
  await expect.poll(() => connected(a.page)).toEqual([b.id]);
  await b.page.close();
  const wrong: JoinOptions[] = [
    { room: 'secret', secret: 'battery staple' },
    { room: 'secret' },
    { room: 'secret', secret, tampered: true },
  ];
  for (const options of wrong) {
    const c = await tab(context, options);
    const failed = { type: 'peer-failed', code: 'PEER_UNTRUSTED' };
    await expect.poll(async () => (await events(a.page)).at(-1)).toMatchObject({ ...failed, deviceId: c.id });
    await expect.poll(async () => (await events(c.page)).at(-1)).toMatchObject({ ...failed, deviceId: a.id });
    await c.page.close();
    await expect.poll(async () => (await events(a.page)).at(-1)?.type).toBe('peer-left');
  }
  await a.page.close();
});

test('peers without a path are reported in 15 s with the reason, and are tried again', async ({
  context,
}) => {
  test.setTimeout(60_000);
  const a = await tab(context, { room: 'apart', relayOnly: true });
  const b = await tab(context, { room: 'apart', relayOnly: true });
  for (const { page } of [a, b]) {
    await expect
      .poll(async () => (await events(page)).find((event) => event.code !== ''), { timeout: 18_000 })
      .toMatchObject({ type: 'peer-failed', code: 'PEER_UNREACHABLE' });
  }
  const reasons = [...(await events(a.page)), ...(await events(b.page))]
    .map((event) => event.text)
    .join('\n');
  expect(reasons).toContain('no TURN server gave this device an address');
  await expect
    .poll(async () => (await events(a.page)).filter((event) => event.type === 'peer-connecting').length)
    .toBe(2);
  for (const { page } of [a, b]) await page.close();
});

test('a connection outlives the server, whose return lets others join', async ({ context }) => {
  const a = await tab(context, { room: 'outage' });
  const b = await tab(context, { room: 'outage' });
  await expect.poll(() => connected(a.page)).toEqual([b.id]);
  await expect.poll(() => connected(b.page)).toEqual([a.id]);
  const seen = (await events(a.page)).length;
  const { port } = server;
  await server.close();
  await expect.poll(() => a.page.evaluate(() => window.peersPage.signaling().state)).toBe('reconnecting');
  server = await createSignalingServer({ staticDir: directory, port });
  for (const { page } of [a, b]) {
    await expect
      .poll(() => page.evaluate(() => window.peersPage.signaling().state), { timeout: 15_000 })
      .toBe('open');
  }
  const c = await tab(context, { room: 'outage' });
  await expect.poll(async () => (await connected(c.page)).sort()).toEqual([a.id, b.id].sort());
  const since = (await events(a.page)).slice(seen);
  expect(since.filter((event) => event.deviceId === b.id)).toEqual([]);
  expect(since.map((event) => event.type)).toEqual(['peer-connecting', 'peer-connected']);
  for (const { page } of [a, b, c]) await page.close();
});
