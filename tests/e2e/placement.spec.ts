/** Real networks in real tabs: placed by measurement, from several plans, and within the memory of each device. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrowserContext, expect, type Page, test } from '@playwright/test';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel } from '../../compiler/compile.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import { resnet50Model } from '../support/resnet50.ts';
import { runOnce } from '../support/runOnce.ts';
import { hasShared, readSharedModel, sharedFolder } from '../support/shared.ts';
import { type RoomSite, startRoomSite } from './support/roomSite.ts';
import { testPicture } from './support/tinyUpscaler.ts';

test.skip(!hasShared, `There is no ${sharedFolder}models.`);

interface Network {
  readonly name: string;
  readonly input: string;
  readonly side: number;
  bytes(): Promise<Uint8Array>;
}

/** Many weights. */
const large: Network = {
  name: 'resnet50',
  input: 'gpu_0/data_0',
  side: 224,
  bytes: async () => saveModel(await resnet50Model(createHeapBackend)).bytes,
};
/** Quickly loaded. */
const small: Network = {
  name: 'resnet20',
  input: 'input',
  side: 32,
  bytes: async () => readSharedModel('resnet20-cifar10.onnx'),
};
const urlOf = ({ name }: Network, axis: string) => `/plans/${name}-${axis}/plan.json`;
/** Between what one device needs for the whole network (some 140 MiB) and what two need for a half (some 80). */
const limitMib = 105;
const mebi = 2 ** 20;

let site: RoomSite;
const expected = new Map<Network, Float32Array>();
test.beforeAll(async () => {
  test.setTimeout(240_000);
  site = await startRoomSite(2);
});
test.afterAll(() => site.close());
test.setTimeout(180_000);

/** Writes a network's plans of two shards, and notes what it gives undivided. */
async function serve(network: Network, axes: readonly ('channels' | 'rows')[]): Promise<void> {
  const { name, side, input } = network;
  const backend = await createHeapBackend();
  const model = await network.bytes();
  for (const axis of axes) {
    const { files } = await compileModel(model, { name, numShards: 2, axis, backend });
    const folder = join(site.mounts['/plans'] ?? '', `${name}-${axis}`);
    await mkdir(folder);
    for (const [file, bytes] of files) await writeFile(join(folder, file), bytes);
  }
  const feeds = new Map([[input, float32Tensor([1, 3, side, side], testPicture(1, side, side))]]);
  const [output] = (await runOnce(backend, model, feeds)).values();
  expected.set(network, output === undefined ? new Float32Array(0) : float32View(output).slice());
}

type Library = typeof import('../../web/index.ts');

/** A page of somebody else that has joined a room and loaded nothing. */
async function openMember(
  context: BrowserContext,
  room: string,
  memoryMib: number | null = null,
): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${site.url}/library/element.html`);
  await page.evaluate(
    async ({ room: name, memoryLimitBytes }) => {
      const address = '/library/index.js';
      const { joinRoom } = (await import(address)) as Library;
      const limit = memoryLimitBytes === null ? {} : { memoryLimitBytes };
      const joined = joinRoom({ signaling: '/', room: name, backend: 'wasm', threads: 1, ...limit });
      globalThis.starling = { room: joined, session: new Promise(() => {}) };
      await joined;
    },
    { room, memoryLimitBytes: memoryMib === null ? null : memoryMib * mebi },
  );
  return page;
}

async function waitForDevices(page: Page, count: number): Promise<void> {
  const waiting = () =>
    page.evaluate(async () => {
      const { devices } = await globalThis.starling.room;
      return devices.filter(({ state }) => state === 'waiting' || state === 'ready').length;
    });
  await expect.poll(waiting, { timeout: 30_000 }).toBe(count);
}

/** The code and sentence of what a load rejects with, or null where it succeeds. */
function load(page: Page, urls: readonly string[]): Promise<{ code: string; message: string } | null> {
  return page.evaluate(async (given) => {
    const room = await globalThis.starling.room;
    const session = room.load(given);
    globalThis.starling = { room: Promise.resolve(room), session };
    return session.then(
      () => null,
      ({ code, message }: { code: string; message: string }) => ({ code, message }),
    );
  }, urls);
}

async function run(page: Page, network: Network) {
  const { side, input } = network;
  const answer = expected.get(network) ?? new Float32Array(0);
  const result = await page.evaluate(
    async ({ data, dims, name }) => {
      const room = await globalThis.starling.room;
      const session = await globalThis.starling.session;
      let report = { devices: 0, heapBytes: 0 as number | null, totalMs: 0 };
      const outputs = await session.run(
        { [name]: { data, dims } },
        {
          onReport: (one) => {
            report = one;
          },
        },
      );
      const [output] = Object.values(outputs);
      const { devices, heapBytes, totalMs } = report;
      const heaps = room.devices.map((device) => device.heapBytes);
      return {
        values: Array.from(output?.data as Float32Array),
        devices,
        heapBytes,
        totalMs,
        heaps,
        choice: room.placement,
      };
    },
    { data: Array.from(testPicture(1, side, side)), dims: [1, 3, side, side], name: input },
  );
  const largest = Math.max(...answer.map(Math.abs));
  const worst = Math.max(...answer.map((value, i) => Math.abs(value - (result.values[i] ?? Number.NaN))));
  expect(worst / largest).toBeLessThan(1e-4);
  return result;
}

test.describe('a large network', () => {
  test.beforeAll(async () => {
    test.setTimeout(480_000);
    await serve(large, ['channels']);
  });

  test('a network that is too large for one device is refused there, and runs on two', async ({
    context,
  }) => {
    const a = await openMember(context, 'memory', limitMib);
    const refused = await load(a, [urlOf(large, 'channels')]);
    expect(refused?.code).toBe('MEMORY_LIMIT');
    expect(refused?.message).toMatch(/needs about \d+\.\d MB on .*, whose limit is 110\.1 MB/);
    await openMember(context, 'memory', limitMib);
    await waitForDevices(a, 2);
    expect(await load(a, [urlOf(large, 'channels')])).toBeNull();
    const { devices, heapBytes, heaps, choice } = await run(a, large);
    expect(devices).toBe(2);
    expect(choice?.aloneMs).toBeNull();
    expect(choice?.reason).toContain('the model does not fit one');
    // What was measured in each Worker is what was predicted for it, and within its limit.
    const measured = [heapBytes ?? Number.NaN, heaps[1] ?? Number.NaN];
    for (const [i, bytes] of measured.entries()) {
      expect(bytes).toBeLessThanOrEqual(limitMib * mebi);
      const predicted = choice?.forecast.heapBytes[i] ?? Number.NaN;
      expect(Math.abs(predicted / bytes - 1)).toBeLessThan(0.15);
    }
  });

  test('equal shares that do not fit are refused by the device itself, before it fetches them', async ({
    context,
  }) => {
    const a = await openMember(context, 'own limit', limitMib);
    const fetched: string[] = [];
    a.context().on('request', (request) => fetched.push(request.url()));
    const code = await a.evaluate(
      async (url) => {
        const address = '/library/index.js';
        const { joinRoom } = (await import(address)) as Library;
        const memoryLimitBytes = 105 * 2 ** 20;
        const room = await joinRoom({
      signaling: '/', room: 'own limit all', backend: 'wasm', threads: 1, devices: 'all', memoryLimitBytes,
    }); // biome-ignore format: one record
        return room.load(url).then(
          () => 'loaded',
          (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
        );
      },
      urlOf(large, 'channels'),
    );
    expect(code).toMatch(/^MEMORY_LIMIT: 2 of the 2 shards of "resnet50" need about \d+ MiB/);
    expect(fetched.filter((url) => url.endsWith('.bin'))).toEqual([]);
  });
});

test.describe('a small network', () => {
  test.beforeAll(() => serve(small, ['channels', 'rows']));

  test('of two plans the better one for the devices that are there is taken, and both give the same answer', async ({
    context,
  }) => {
    const a = await openMember(context, 'plans');
    const b = await openMember(context, 'plans');
    await waitForDevices(a, 2);
    expect(await load(a, [urlOf(small, 'rows'), urlOf(small, 'channels')])).toBeNull();
    for (let i = 0; i < 4; i++) {
      const { devices, choice } = await run(a, small);
      expect(choice).not.toBeNull();
      expect(choice?.forecast.shards.filter((held) => held.length > 0)).toHaveLength(devices);
      const { aloneMs, expectedMs } = choice ?? { aloneMs: null, expectedMs: Number.NaN };
      // Never more than a twentieth slower than one device.
      expect(expectedMs).toBeLessThanOrEqual(1.05 * (aloneMs ?? Number.NaN));
    }
    await b.close();
    expect(await run(a, small)).toMatchObject({
      devices: 1,
      choice: { reason: 'This device has the room to itself.' },
    });
  });

  test('plans of different models are refused together', async ({ context }) => {
    const page = await openMember(context, 'different');
    const refused = await load(page, [urlOf(small, 'rows'), '/plan/plan.json']);
    expect(refused?.code).toBe('PLAN_UNREADABLE');
    expect(refused?.message).toContain('"resnet20" and "tiny-upscaler" were compiled from different files');
  });
});
