/**
 * Answers GET and HEAD for files: headers that isolate the page, validators, ranges. Read-only and public;
 * which file a path means is findFile.ts.
 */
import { createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { parseByteRange } from './byteRange.ts';
import { type FoundFile, findFile, type Mounts } from './findFile.ts';
import { mimeType } from './mimeTypes.ts';

/**
 * Opener and embedder policy give the page SharedArrayBuffer; plans are public, so that a page elsewhere,
 * isolated or not, may load them.
 */
const commonHeaders = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Content-Length, Content-Range, ETag',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
} as const;

/** Names that carry a hash of the content: 32 or more hexadecimal digits, or what a bundler adds in `assets/`. */
const hashedName = /[0-9a-f]{32,}|\/assets\/[^/]+-[\w-]{8}\.\w+$/;

export function sendText(response: ServerResponse, status: number, text: string, headers = {}): void {
  response.writeHead(status, {
    ...commonHeaders,
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** Settles when the answer has gone out or its receiver is gone; rejects never. */
export async function serveFile(
  request: IncomingMessage,
  response: ServerResponse,
  mounts: Mounts,
): Promise<void> {
  if (request.method === 'OPTIONS') {
    return sendText(response, 200, '', {
      'Access-Control-Allow-Methods': 'GET, HEAD',
      'Access-Control-Allow-Headers': 'Range, If-None-Match, If-Modified-Since, If-Range',
      'Access-Control-Max-Age': '86400',
    });
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return sendText(response, 405, 'Only GET and HEAD are answered here.\n', { Allow: 'GET, HEAD, OPTIONS' });
  }
  const urlPath = (request.url ?? '/').split(/[?#]/, 1)[0] ?? '/';
  const found = await findFile(urlPath, mounts);
  if (found.kind === 'none') return sendText(response, 404, 'There is no such file.\n');
  if (found.kind === 'redirect') return sendText(response, 308, '', { Location: found.location });
  await sendFile(request, response, urlPath, found);
}

async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  urlPath: string,
  file: Extract<FoundFile, { kind: 'file' }>,
): Promise<void> {
  const etag = `"${file.size.toString(16)}-${Math.round(file.modifiedMs * 1000).toString(16)}"`;
  const lastModified = new Date(file.modifiedMs).toUTCString();
  const headers = {
    ...commonHeaders,
    ETag: etag,
    'Last-Modified': lastModified,
    'Accept-Ranges': 'bytes',
    'Cache-Control': hashedName.test(urlPath) ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
  if (isUnchanged(request, etag, file.modifiedMs)) {
    response.writeHead(304, headers).end();
    return;
  }
  const ifRange = request.headers['if-range'];
  const ranged = ifRange === undefined || ifRange === etag || ifRange === lastModified;
  const range = ranged ? parseByteRange(request.headers.range, file.size) : null;
  if (range === 'unsatisfiable') {
    return sendText(response, 416, 'The file is shorter than that.\n', {
      'Content-Range': `bytes */${file.size}`,
    });
  }
  const { start, end } = range ?? { start: 0, end: file.size - 1 };
  response.writeHead(range === null ? 200 : 206, {
    ...headers,
    'Content-Type': mimeType(file.path),
    'Content-Length': end - start + 1,
    ...(range === null ? {} : { 'Content-Range': `bytes ${start}-${end}/${file.size}` }),
  });
  if (request.method === 'HEAD' || file.size === 0) {
    response.end();
    return;
  }
  // A reader that goes away, or a file that shrinks meanwhile, ends this response and nothing else.
  await pipeline(createReadStream(file.path, { start, end }), response).catch(() => response.destroy());
}

function isUnchanged(request: IncomingMessage, etag: string, modifiedMs: number): boolean {
  const ifNoneMatch = request.headers['if-none-match'];
  if (ifNoneMatch !== undefined) {
    const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    return tags.includes(etag) || tags.includes('*');
  }
  const since = Date.parse(request.headers['if-modified-since'] ?? '');
  // The header counts in whole seconds.
  return !Number.isNaN(since) && Math.floor(modifiedMs / 1000) * 1000 <= since;
}
