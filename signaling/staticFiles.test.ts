import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseByteRange } from './byteRange.ts';
import { findFile } from './findFile.ts';
import { createSignalingServer, type SignalingServer } from './server.ts';

const secret = 'not for others';
let base: string;
let server: SignalingServer;
let mounts: Record<string, string>;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'starling-files-'));
  await mkdir(join(base, 'dist/assets'), { recursive: true });
  await mkdir(join(base, 'dist/sub'));
  await mkdir(join(base, 'models'));
  await writeFile(join(base, 'secret.txt'), secret);
  await writeFile(join(base, 'dist/.env'), secret);
  await writeFile(join(base, 'dist/index.html'), '<p>page');
  await writeFile(join(base, 'dist/sub/index.html'), '<p>sub');
  await writeFile(join(base, 'dist/a b.txt'), 'blank');
  await writeFile(join(base, 'dist/empty.bin'), '');
  for (const name of ['run.wasm', 'run.mjs', 'model.onnx', 'run.js'])
    await writeFile(join(base, 'dist', name), name);
  await writeFile(join(base, 'dist/assets/index-Ab3_d-9x.js'), 'hashed');
  await writeFile(join(base, 'models/weights.bin'), '0123456789');
  await symlink(join(base, 'secret.txt'), join(base, 'dist/link.txt'));
  await symlink(base, join(base, 'dist/linked'));
  mounts = { '/': join(base, 'dist'), '/models': join(base, 'models') };
  server = await createSignalingServer({
    staticDir: join(base, 'dist'),
    mounts: { '/models': join(base, 'models') },
  });
});
afterAll(async () => {
  await server.close();
  await rm(base, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, { headers });

/** Without the normalisation that fetch does to a path. */
function rawGet(path: string, method = 'GET'): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: server.port, path, method }, (response) => {
      let body = '';
      response.on('data', (data) => {
        body += data;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on('error', reject).end();
  });
}

describe('files', () => {
  it.each([
    ['/', 'text/html; charset=utf-8'],
    ['/run.wasm', 'application/wasm'],
    ['/run.mjs', 'text/javascript; charset=utf-8'],
    ['/run.js', 'text/javascript; charset=utf-8'],
    ['/model.onnx', 'application/octet-stream'],
    ['/a%20b.txt', 'text/plain; charset=utf-8'],
    ['/models/weights.bin', 'application/octet-stream'],
  ])('%s comes as %s, isolated and open to embedding', async (path, type) => {
    const response = await get(path);
    expect(response.status).toBe(200);
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({
      'content-type': type,
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
    });
    expect((await response.arrayBuffer()).byteLength).toBe(Number(headers['content-length']));
  });

  it('are asked for again only when they have changed', async () => {
    const first = await get('/index.html');
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const etag = first.headers.get('etag') ?? '';
    const modified = first.headers.get('last-modified') ?? '';
    expect((await get('/index.html', { 'if-none-match': `"x", W/${etag}` })).status).toBe(304);
    expect((await get('/index.html', { 'if-none-match': '"x"' })).status).toBe(200);
    expect((await get('/index.html', { 'if-modified-since': modified })).status).toBe(304);
    const before = new Date(Date.parse(modified) - 5000).toUTCString();
    expect((await get('/index.html', { 'if-modified-since': before })).status).toBe(200);
    expect((await get('/assets/index-Ab3_d-9x.js')).headers.get('cache-control')).toContain('immutable');
  });

  it('come in part', async () => {
    const part = await get('/models/weights.bin', { range: 'bytes=2-4' });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe('bytes 2-4/10');
    expect(await part.text()).toBe('234');
    expect(await (await get('/models/weights.bin', { range: 'bytes=-3' })).text()).toBe('789');
    expect(await (await get('/models/weights.bin', { range: 'bytes=8-' })).text()).toBe('89');
    const beyond = await get('/models/weights.bin', { range: 'bytes=10-' });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */10']);
    const etag = part.headers.get('etag') ?? '';
    const valid = await get('/models/weights.bin', { range: 'bytes=0-0', 'if-range': etag });
    expect(valid.status).toBe(206);
    const stale = await get('/models/weights.bin', { range: 'bytes=0-0', 'if-range': '"old"' });
    expect([stale.status, await stale.text()]).toEqual([200, '0123456789']);
    expect(await (await get('/empty.bin')).text()).toBe('');
  });

  it('answer HEAD, and refuse to be written', async () => {
    expect(await rawGet('/models/weights.bin', 'HEAD')).toEqual({ status: 200, body: '' });
    expect((await rawGet('/index.html', 'PUT')).status).toBe(405);
    expect((await rawGet('/index.html', 'OPTIONS')).status).toBe(200);
    expect((await rawGet('/nothing')).status).toBe(404);
    const redirect = await fetch(`${server.url}/sub`, { redirect: 'manual' });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, '/sub/']);
  });

  it.each([
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e%2fsecret.txt',
    '/..%5csecret.txt',
    '/models/../../secret.txt',
    '/models/..%2f..%2fsecret.txt',
    '//../secret.txt',
    '/./../secret.txt',
    '/link.txt',
    '/linked/secret.txt',
    '/.env',
    '/%00/secret.txt',
    '/index.html%00.txt',
    '/%',
    'http://x/../secret.txt',
  ])('are not left by %s', async (path) => {
    const { status, body } = await rawGet(path);
    expect(body).not.toContain(secret);
    expect(status).toBe(404);
  });

  it('are not left by any path', async () => {
    const pieces = fc.constantFrom(
      '..',
      '.',
      '/',
      '%2e',
      '%2f',
      '%5c',
      '\\',
      'secret.txt',
      'models',
      'linked',
      '%00',
      '~',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 12 }), async (parts) => {
        const found = await findFile(`/${parts.join('')}`, mounts);
        if (found.kind === 'file') expect(found.path).not.toContain('secret');
      }),
      { numRuns: 300 },
    );
  });
});

it('a byte range lies in the file or is refused, whatever the header', () => {
  const header = fc.oneof(
    fc.string(),
    fc.tuple(fc.nat(30), fc.nat(30)).map(([a, b]) => `bytes=${a}-${b}`),
  );
  fc.assert(
    fc.property(header, fc.nat(20), (text, size) => {
      const range = parseByteRange(text, size);
      if (range === null || range === 'unsatisfiable') return;
      expect(range.start).toBeGreaterThanOrEqual(0);
      expect(range.end).toBeLessThan(size);
      expect(range.start).toBeLessThanOrEqual(range.end);
    }),
  );
});
