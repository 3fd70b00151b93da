/** The same room in other surroundings: another browser in it, WebGPU, https, plain http on a network address. */
import { type Browser, chromium, expect, firefox, type Page, test } from '@playwright/test';
import { chromiumOptions, firefoxOptions } from '../../scripts/browserOptions.ts';
import { localAddresses } from '../../signaling/addresses.ts';
import { serve } from '../../signaling/serve.ts';
import type { SignalingServer } from '../../signaling/server.ts';
import {
  expectRight,
  expectShards,
  openTab,
  type RoomSite,
  runInPage,
  startRoomSite,
} from './support/roomSite.ts';

let site: RoomSite;
const opened: { close(): Promise<unknown> }[] = [];

test.beforeAll(async () => {
  site = await startRoomSite(4);
});
test.afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});
test.afterAll(() => site.close());

function keep<T extends { close(): Promise<unknown> }>(one: T): T {
  opened.push(one);
  return one;
}

/** What `npm start` starts, with these arguments. */
async function startServer(...args: string[]): Promise<SignalingServer> {
  const { '/': page = '', ...others } = site.mounts;
  const mounts = Object.entries(others).flatMap(([prefix, folder]) => ['--mount', `${prefix}=${folder}`]);
  const server = await serve(['--dir', page, ...mounts, '--port', '0', ...args], () => {});
  if (server === null) throw new Error('These arguments start no server.');
  return keep(server);
}

const surroundings = (page: Page) =>
  page.evaluate(async () => {
    const { backend, devices } = await globalThis.starling.room;
    return {
      secure: globalThis.isSecureContext,
      isolated: globalThis.crossOriginIsolated,
      backend: { kind: backend.kind, threads: backend.threads },
      kinds: devices.map((device) => device.backend?.kind),
    };
  });

/** Both tabs hold two shards, and each asks once. */
async function expectTogether(pages: readonly [Page, Page], seed: number): Promise<void> {
  for (const page of pages) await expectShards(page, ['0,1', '2,3'], 60_000);
  for (const page of pages) {
    const [run] = await runInPage(page, [seed]);
    expect(run).toMatchObject({ devices: 2, restarts: 0 });
    if (run !== undefined) await expectRight(site, seed, run);
  }
}

test('Firefox and Chromium in one room', async ({ context }) => {
  const options = firefoxOptions();
  test.skip(options === undefined, 'Firefox was not found on this machine.');
  test.setTimeout(240_000);
  const browser: Browser = keep(await firefox.launch({ ...options, channel: 'moz-firefox' }));
  const fox = await openTab(await browser.newContext(), site, 'mixed');
  const chrome = await openTab(context, site, 'mixed');
  expect(await fox.evaluate(() => navigator.userAgent)).toContain('Firefox');
  await expectTogether([chrome, fox], 21);
});

test('two tabs compute with WebGPU on the software adapter', async () => {
  test.setTimeout(300_000);
  const browser = keep(await chromium.launch(chromiumOptions(['--enable-unsafe-webgpu'])));
  const context = await browser.newContext();
  const a = await openTab(context, site, 'webgpu', { backend: 'webgpu' });
  const b = await openTab(context, site, 'webgpu', { backend: 'webgpu' });
  await expectTogether([a, b], 22);
  for (const page of [a, b]) {
    const seen = await surroundings(page);
    expect(seen.backend.kind).toBe('webgpu');
    expect(seen.kinds).toEqual(['webgpu', 'webgpu']);
    await expect(page.locator('.device .details').first()).toContainText('WebGPU');
  }
});

test('https with a certificate of its own isolates the page and gives it threads', async ({ browser }) => {
  const server = await startServer('--https', '--host', '127.0.0.1');
  expect(server.url).toMatch(/^https:/);
  const context = keep(await browser.newContext({ ignoreHTTPSErrors: true }));
  const a = await openTab(context, server, 'https', { threads: '2' });
  const b = await openTab(context, server, 'https', { threads: '2' });
  await expectTogether([a, b], 23);
  for (const page of [a, b]) {
    expect(await surroundings(page)).toMatchObject({
      secure: true,
      isolated: true,
      backend: { kind: 'wasm', threads: 2 },
    });
    await expect(page.locator('#notices')).not.toContainText('plain http');
  }
});

test('over plain http on a network address the page computes on one thread and says what is missing', async ({
  browser,
}) => {
  const address = localAddresses().find((one) => !one.includes(':'));
  test.skip(address === undefined, 'This machine has no address but those of the loopback.');
  const server = await startServer('--host', '0.0.0.0');
  const url = `http://${address}:${server.port}`;
  const context = keep(await browser.newContext());
  const a = await openTab(context, { url }, 'plain', { threads: '2', backend: 'webgpu' });
  const b = await openTab(context, { url }, 'plain', { threads: '2' });
  await expectTogether([a, b], 24);
  for (const page of [a, b]) {
    expect(await surroundings(page)).toMatchObject({
      secure: false,
      isolated: false,
      backend: { kind: 'wasm', threads: 1 },
    });
    const notices = page.locator('#notices');
    await expect(notices).toContainText('plain http');
    await expect(notices).toContainText('one thread');
    await expect(notices).toContainText('npm start -- --https');
    await expect(page.locator('.message')).toHaveCount(0);
  }
});

test('a room with a secret over plain http, where the browser has no cryptography', async ({ browser }) => {
  const address = localAddresses().find((one) => !one.includes(':'));
  test.skip(address === undefined, 'This machine has no address but those of the loopback.');
  const server = await startServer('--host', '0.0.0.0');
  const url = `http://${address}:${server.port}/?room=kept&plan=/plan/plan.json&threads=1&devices=all#secret=feather`;
  const context = keep(await browser.newContext());
  const pages = [await context.newPage(), await context.newPage()] as const;
  for (const page of pages) {
    await page.goto(url);
    await page.waitForFunction(() => globalThis.starling !== undefined);
    await page.evaluate(async () => void (await globalThis.starling.session));
    expect(await page.evaluate(() => globalThis.crypto.subtle === undefined)).toBe(true);
  }
  await expectTogether(pages, 25);
});

test('where the networks that classify are not made yet, the page offers to enlarge pictures and nothing else', async ({
  context,
}) => {
  await context.route('**/catalogue.json', (route) => route.fulfill({ status: 404, body: 'Not found' }));
  const page = await context.newPage();
  await page.goto(`${site.url}/?plan=/plan/plan.json&threads=1&room=untrained&task=classify`);
  await expectShards(page, ['0,1,2,3']);
  await expect(page.locator('#workspace')).toBeVisible();
  await expect(page.locator('#tasks')).toBeHidden();
  await expect(page.locator('.message')).toHaveCount(0);
});
