/**
 * What the room's specs need: the page and the library, built from the sources as they are; a server that
 * pairs and serves them; a compiled plan; and the answers of the undivided model to compare with.
 */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, expect, type Page } from '@playwright/test';
import { build } from 'vite';
import { createHeapBackend } from '../../../backends/ortHeap.ts';
import { compileModel } from '../../../compiler/compile.ts';
import { float32Tensor, float32View } from '../../../graph/tensor.ts';
import { createSignalingServer } from '../../../signaling/server.ts';
import type {} from '../../../web/demo/main.ts';
import { runOnce } from '../../support/runOnce.ts';
import { startPlainProxy } from './plainProxy.ts';
import { scale, side, testPicture, tinyUpscaler } from './tinyUpscaler.ts';

const configFile = fileURLToPath(new URL('../../../vite.config.ts', import.meta.url));

export interface RoomSite {
  readonly url: string;
  /** The same without the headers that isolate the page. */
  readonly plainUrl: string;
  /** What is served at `/`, `/library`, `/plan` and `/plans`, for servers that a spec starts itself. */
  readonly mounts: Readonly<Record<string, string>>;
  /** A copy of the plan at /plans/NAME/plan.json, for a spec to spoil; its directory. */
  copyPlan(name: string): Promise<string>;
  /** What the undivided model gives for testPicture(seed). */
  expected(seed: number): Promise<Float32Array>;
  close(): Promise<void>;
}

/** Starts everything in a directory of its own; the plan, of `numShards` shards, is at /plan/plan.json. */
export async function startRoomSite(numShards: number): Promise<RoomSite> {
  const directory = await mkdtemp(join(tmpdir(), 'starling-room-'));
  const inside = (name: string) => join(directory, name);
  const [page, library, plan, plans] = [inside('page'), inside('library'), inside('plan'), inside('plans')];
  const quiet = { configFile, logLevel: 'error' as const };
  await build({ ...quiet, build: { outDir: page } });
  await build({ ...quiet, mode: 'library', build: { outDir: library } });
  await writeFile(join(library, 'element.html'), elementPage);

  const backend = await createHeapBackend({ threads: 1 });
  const model = tinyUpscaler();
  const compiled = await compileModel(model, { name: 'tiny-upscaler', numShards, axis: 'channels', backend });
  await mkdir(plan);
  await mkdir(plans);
  for (const [name, bytes] of compiled.files) await writeFile(join(plan, name), bytes);

  const mounts = { '/': page, '/library': library, '/plan': plan, '/plans': plans };
  const server = await createSignalingServer({ mounts });
  const plain = await startPlainProxy(server.port);
  const known = new Map<number, Float32Array>();
  return {
    url: server.url,
    plainUrl: plain.url,
    mounts,
    async copyPlan(name) {
      await cp(plan, join(plans, name), { recursive: true });
      return join(plans, name);
    },
    async expected(seed) {
      const before = known.get(seed);
      if (before !== undefined) return before;
      const feeds = new Map([['picture', float32Tensor([1, 3, side, side], testPicture(seed))]]);
      const large = (await runOnce(backend, model, feeds)).get('large');
      if (large === undefined) throw new Error('The model gave no output.');
      const values = float32View(large).slice();
      known.set(seed, values);
      return values;
    },
    async close() {
      plain.close();
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
}

/** The element as a visitor of somebody else's page has it: one script, one tag. */
const elementPage = `<!doctype html>
<title>element</title>
<script type="module" src="./element.js"></script>
<body></body>`;

/**
 * One thread: the tabs share this machine's cores. Every device gets its share, which for so small a network no
 * measurement would give it.
 */
const pageParameters = { plan: '/plan/plan.json', threads: '1', devices: 'all' };

/** Opens the page in a room and waits until its plan is loaded. */
export async function openTab(
  context: BrowserContext,
  { url }: Pick<RoomSite, 'url'>,
  room: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${url}/?${new URLSearchParams({ ...pageParameters, ...parameters, room })}`);
  await page.waitForFunction(() => globalThis.starling !== undefined);
  await page.evaluate(async () => {
    await globalThis.starling.session;
  });
  return page;
}

/** The shards of each device as this page shows them, in the order of the shards; only where all are ready. */
function readyShards(page: Page): Promise<string[]> {
  return page
    .locator('.device[data-state="ready"]')
    .evaluateAll((devices) => devices.map((device) => device.getAttribute('data-shards') ?? ''));
}

export async function expectShards(
  page: Page,
  shards: readonly string[],
  // Less than peerConnectMs: a first attempt to connect that is lost and made again must not pass.
  timeout = 12_000,
): Promise<void> {
  await expect.poll(() => readyShards(page), { timeout }).toEqual(shards);
}

export interface PageRun {
  /** Float32 bytes in base64: lists of numbers take seconds to leave a page. */
  readonly output: string;
  readonly dims: readonly number[];
  readonly devices: number;
  readonly restarts: number;
  readonly rounds: number;
}

/** Runs the pictures of these seeds through the page's session, all asked for at once. */
export function runInPage(page: Page, seeds: readonly number[]): Promise<PageRun[]> {
  return page.evaluate(
    async ({ all, pictures, dims }) => {
      const session = await globalThis.starling.session;
      return Promise.all(
        all.map(async (_, i) => {
          let report = { devices: 0, restarts: 0, rounds: 0 };
          const outputs = await session.run(
            { picture: { data: pictures[i] ?? [], dims } },
            { onReport: (one) => (report = one) },
          );
          const large = outputs['large'];
          const bytes = new Uint8Array(large?.data.buffer ?? new ArrayBuffer(0));
          const { devices, restarts, rounds } = report;
          return {
            output: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')),
            dims: large?.dims ?? [],
            devices,
            restarts,
            rounds,
          };
        }),
      );
    },
    { all: seeds, pictures: seeds.map((seed) => Array.from(testPicture(seed))), dims: [1, 3, side, side] },
  );
}

/** Within 1e-3 of the undivided model, whose outputs are of the order of 1. */
export async function expectRight(site: RoomSite, seed: number, run: PageRun): Promise<void> {
  const expected = await site.expected(seed);
  expect(run.dims).toEqual([1, 3, side * scale, side * scale]);
  const output = new Float32Array(new Uint8Array(Buffer.from(run.output, 'base64')).buffer);
  expect(output.length).toBe(expected.length);
  let largest = 0;
  for (const [i, value] of output.entries()) {
    largest = Math.max(largest, Math.abs(value - (expected[i] ?? Number.NaN)));
  }
  expect(largest).toBeLessThan(1e-3);
}
