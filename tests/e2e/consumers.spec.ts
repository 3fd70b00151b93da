/** The package in another Vite application, built and in development, as npm would install it and without any configuration. */
import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type Page, test } from '@playwright/test';
import { build, createServer, preview } from 'vite';
import packageJson from '../../package.json' with { type: 'json' };
import { type RoomSite, startRoomSite } from './support/roomSite.ts';
import { scale, side } from './support/tinyUpscaler.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
let site: RoomSite;
let consumer: string;

test.beforeAll(async () => {
  site = await startRoomSite(2);
  consumer = await mkdtemp(join(tmpdir(), 'starling-consumer-'));
  await cp(join(root, 'tests/consumers/vite'), consumer, { recursive: true });
  const installed = join(consumer, 'node_modules/starling-inference');
  await mkdir(join(installed, 'dist'), { recursive: true });
  await cp(join(root, 'package.json'), join(installed, 'package.json'));
  await build({
    configFile: join(root, 'vite.config.ts'),
    mode: 'library',
    logLevel: 'error',
    build: { outDir: join(installed, 'dist/lib') },
  });
  const types = ['-p', join(root, 'tsconfig.types.json'), '--outDir', join(installed, 'dist/lib/types')];
  expect(compile(root, types)).toBe('');
  // What npm would install with it, and nothing else.
  for (const name of Object.keys(packageJson.dependencies))
    await symlink(join(root, 'node_modules', name), join(consumer, 'node_modules', name));
});
test.afterAll(async () => {
  await site.close();
  await rm(consumer, { recursive: true });
});

function compile(cwd: string, args: readonly string[]): string {
  return spawnSync(join(root, 'node_modules/.bin/tsc'), args, { cwd, encoding: 'utf8' }).stdout;
}

async function expectAnswer(page: Page, url: string): Promise<void> {
  const query = new URLSearchParams({ signaling: site.url, plan: `${site.url}/plan/plan.json` });
  await page.goto(`${url}?${query}`);
  await expect(page).toHaveTitle(`float32 1x3x${side * scale}x${side * scale} idle 2`, { timeout: 60_000 });
}

test('its types hold without skipping the library', () => {
  expect(compile(consumer, ['-p', consumer])).toBe('');
});

test('it runs when built', async ({ page }) => {
  await build({ root: consumer, configFile: false, logLevel: 'error' });
  const server = await preview({
    root: consumer,
    configFile: false,
    preview: { port: 0, host: '127.0.0.1', headers },
  });
  try {
    await expectAnswer(page, server.resolvedUrls?.local[0] ?? '');
  } finally {
    await server.close();
  }
});

test('it runs in development', async ({ page }) => {
  const server = await createServer({
    root: consumer,
    configFile: false,
    logLevel: 'error',
    server: { port: 0, host: '127.0.0.1', headers },
  });
  try {
    await server.listen();
    await expectAnswer(page, server.resolvedUrls?.local[0] ?? '');
  } finally {
    await server.close();
  }
});
