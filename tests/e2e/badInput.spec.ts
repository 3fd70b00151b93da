/** What goes wrong on the page: each time one sentence with its code, and everything else goes on. */
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { createSignalingServer } from '../../signaling/server.ts';
import { serveFile } from '../../signaling/staticFiles.ts';
import {
  expectRight,
  expectShards,
  openTab,
  type RoomSite,
  runInPage,
  startRoomSite,
} from './support/roomSite.ts';

let site: RoomSite;
test.beforeAll(async () => {
  site = await startRoomSite(4);
});
test.afterAll(() => site.close());

/** Opens the page without waiting for anything to be loaded. */
async function openPage(context: BrowserContext, url: string, room: string, plan = '/plan/plan.json') {
  const page = await context.newPage();
  await page.goto(`${url}/?${new URLSearchParams({ room, plan, threads: '1' })}`);
  return page;
}

/** One message and no other; its sentence. */
async function expectMessage(page: Page, code: string): Promise<string> {
  const message = page.locator('.message');
  await expect(message).toHaveCount(1, { timeout: 30_000 });
  await expect(message).toHaveAttribute('data-code', code);
  await expect(message.locator('code')).toHaveText(code);
  const sentence = (await message.locator('span').textContent()) ?? '';
  expect(sentence).toMatch(/^[A-Z"].*\.$/);
  return sentence;
}

async function expectRun(page: Page, seed: number, devices: number): Promise<void> {
  const [run] = await runInPage(page, [seed]);
  expect(run).toMatchObject({ devices });
  if (run !== undefined) await expectRight(site, seed, run);
}

/** A page whose own plan is of no use still lends its device to others, and loads another plan when told. */
async function expectUseful(page: Page, context: BrowserContext, room: string, seed: number): Promise<void> {
  const other = await openTab(context, site, room);
  await expectShards(other, ['0,1', '2,3']);
  await expectRun(other, seed, 2);
  await page.evaluate(async () => {
    const joined = await globalThis.starling.room;
    await joined.load('/plan/plan.json');
  });
  await expect(page.locator('.message')).toHaveCount(1);
}

test('a plan of another version', async ({ context }) => {
  const folder = await site.copyPlan('version');
  const file = join(folder, 'plan.json');
  const plan = JSON.parse(await readFile(file, 'utf8')) as { version: number };
  await writeFile(file, JSON.stringify({ ...plan, version: 99 }));
  const page = await openPage(context, site.url, 'version', '/plans/version/plan.json');
  expect(await expectMessage(page, 'PLAN_VERSION')).toContain('version 99');
  await expectUseful(page, context, 'version', 31);
});

test('a weight file that is not what the plan says', async ({ context }) => {
  const folder = await site.copyPlan('weights');
  const plan = JSON.parse(await readFile(join(folder, 'plan.json'), 'utf8')) as {
    weights: { path: string; bytes: number }[];
  };
  const spoiled = plan.weights.find(({ bytes }) => bytes > 0)?.path ?? '';
  const bytes = await readFile(join(folder, spoiled));
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await writeFile(join(folder, spoiled), bytes);
  const page = await openPage(context, site.url, 'weights', '/plans/weights/plan.json');
  expect(await expectMessage(page, 'HASH_MISMATCH')).toContain(spoiled);
  await expectUseful(page, context, 'weights', 32);
});

test('a plan that is not there', async ({ context }) => {
  const page = await openPage(context, site.url, 'missing', '/plan/nothing.json');
  expect(await expectMessage(page, 'PLAN_NOT_FOUND')).toContain('/plan/nothing.json');
  await expectUseful(page, context, 'missing', 33);
});

test('a file that is no plan', async ({ context }) => {
  const page = await openPage(context, site.url, 'other', '/index.html');
  await expectMessage(page, 'PLAN_UNREADABLE');
});

test('a file that is no picture', async ({ context }) => {
  const page = await openTab(context, site, 'broken');
  const files = { name: 'broken.png', mimeType: 'image/png', buffer: Buffer.from('no picture') };
  await page.locator('#file').setInputFiles(files);
  await expectMessage(page, 'IMAGE_UNREADABLE');
  await expectRun(page, 34, 1);
  // The next picture puts the message away.
  await page.getByRole('button', { name: 'Try a small sample' }).click();
  await expect(page.locator('#save')).toBeVisible({ timeout: 60_000 });
  await expect(page.locator('.message')).toHaveCount(0);
});

test('a signaling server that is not there', async ({ context }) => {
  // Serves the page, but has no signaling.
  const server = createServer((request, response) => void serveFile(request, response, site.mounts));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const page = await openPage(context, `http://127.0.0.1:${port}`, 'nobody');
    expect(await expectMessage(page, 'SIGNALING_UNREACHABLE')).toContain(`127.0.0.1:${port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('a signaling server that goes away and comes back', async ({ context }) => {
  const server = await createSignalingServer({ mounts: site.mounts });
  const a = await openTab(context, server, 'away');
  const b = await openTab(context, server, 'away');
  for (const page of [a, b]) await expectShards(page, ['0,1', '2,3']);
  await server.close();
  for (const page of [a, b]) await expectMessage(page, 'SIGNALING_UNREACHABLE');
  await expectRun(a, 35, 2);
  const again = await createSignalingServer({ mounts: site.mounts, port: server.port });
  try {
    for (const page of [a, b]) await expect(page.locator('.message')).toHaveCount(0, { timeout: 30_000 });
    await expectRun(b, 36, 2);
  } finally {
    await again.close();
  }
});

test('a room that is full', async ({ context }) => {
  const server = await createSignalingServer({ mounts: site.mounts, limits: { roomMembers: 1 } });
  try {
    const first = await openTab(context, server, 'full');
    const second = await openPage(context, server.url, 'full');
    expect(await expectMessage(second, 'ROOM_FULL')).toContain('"full"');
    await expectRun(first, 37, 1);
    // There is a place elsewhere.
    const elsewhere = await openTab(context, server, 'empty');
    await expectRun(elsewhere, 38, 1);
  } finally {
    await server.close();
  }
});

test('a Worker that dies is started anew, and its device is back in the room', async ({ context }) => {
  const a = await openTab(context, site, 'dies');
  const b = await openTab(context, site, 'dies');
  for (const page of [a, b]) await expectShards(page, ['0,1', '2,3']);
  const [worker] = a.workers();
  await worker?.evaluate(() => {
    setTimeout(() => {
      throw new Error('out of breath');
    });
  });
  expect(await expectMessage(a, 'WORKER_DIED')).toContain('out of breath');
  for (const page of [a, b]) {
    await expect(page.locator('.device[data-state="ready"]')).toHaveCount(2, { timeout: 30_000 });
  }
  await a.evaluate(async () => void (await globalThis.starling.session));
  for (const page of [a, b]) await expectRun(page, 39, 2);
  await expect(b.locator('.message')).toHaveCount(0);
});

test('the element joins again with a new Worker', async ({ page }) => {
  await page.goto(`${site.url}/library/element.html`);
  const ready = page.locator('starling-session[state="ready"]');
  await page.evaluate(async () => {
    await customElements.whenDefined('starling-session');
    const element = document.createElement('starling-session');
    element.setAttribute('plan', '/plan/plan.json');
    element.setAttribute('room', 'element dies');
    element.setAttribute('signaling', '/');
    const codes: string[] = [];
    Object.assign(element, { codes });
    element.addEventListener('starling-error', (event) => {
      codes.push((event as CustomEvent<{ error: { code: string } }>).detail.error.code);
    });
    document.body.append(element);
  });
  await expect(ready).toBeVisible({ timeout: 30_000 });
  const [first] = page.workers();
  await first?.evaluate(() => {
    setTimeout(() => {
      throw new Error('out of breath');
    });
  });
  const codes = () =>
    page.evaluate(() => (document.querySelector('starling-session') as { codes?: string[] } | null)?.codes);
  await expect.poll(codes).toEqual(['WORKER_DIED']);
  await expect(ready).toBeVisible({ timeout: 30_000 });
  expect(page.workers()).not.toContain(first);
});

/** Put before the Worker's script: on demand, the next call out of the wasm code traps there. */
const trapHook = `
const wrapped = (imports) => Object.fromEntries(Object.entries(imports).map(([space, entries]) => [space,
  Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, typeof entry !== 'function' ? entry : (...all) => {
    if (self.trap) { self.trap = false; throw new WebAssembly.RuntimeError('unreachable'); }
    return entry(...all);
  }]))]));
for (const name of ['instantiate', 'instantiateStreaming']) {
  const original = WebAssembly[name];
  WebAssembly[name] = (source, imports) => original.call(WebAssembly, source, wrapped(imports));
}
`;

test('a trap in the wasm code ends the Worker, and the picture starts again with a new one', async ({
  context,
}) => {
  await context.route('**/assets/device.worker*.js', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: trapHook + (await response.text()) });
  });
  const page = await openTab(context, site, 'trap');
  await expectRun(page, 40, 1);
  const [worker] = page.workers();
  await worker?.evaluate(() => Object.assign(globalThis, { trap: true }));
  await page.getByRole('button', { name: 'Try a small sample' }).click();
  expect(await expectMessage(page, 'WORKER_DIED')).toContain('unreachable');
  await expect(page.locator('#save')).toBeVisible({ timeout: 60_000 });
  await expectRun(page, 41, 1);
});
