import { describe, expect, it } from 'vitest';
import { StarlingError } from '../protocol/errors.ts';
import type { TensorFrame } from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import { sha256Hex } from '../protocol/sha256.ts';
import { FileTransfer } from './fileTransfer.ts';
import { createLink, type Link } from './link.ts';
import { ManualClock } from './manualClock.ts';
import { createMemoryNetwork } from './memoryChannel.ts';

const piece = limits.filePieceBytes;
const options = { path: 'weights.bin', maxBytes: limits.modelBytes };

/** Two devices with a link between them; `a` has the given files. */
function pair(files: readonly Uint8Array[], shape?: { bytesPerSecond: number; latencyMs: number }) {
  const clock = new ManualClock();
  const channels = createMemoryNetwork(shape === undefined ? {} : { shape: { clock, ...shape } }).pair();
  const known = new Map(files.map((file) => [sha256Hex(file), file]));
  const links: Link[] = [];
  const transfers = channels.map((channel, i) => {
    const peer = i === 0 ? 'b' : 'a';
    const transfer = new FileTransfer({
      clock,
      send: async (_, frame) => links[i]?.send(frame),
      read: async (sha256) => (i === 0 ? known.get(sha256) : undefined),
    });
    const link = createLink({
      channel,
      clock,
      accept: (header) => transfer.accept(peer, header),
      onFrame: (frame) => transfer.receive(peer, frame as TensorFrame),
      onClose: (reason) => transfer.lost(peer, reason),
    });
    links.push(link);
    return transfer;
  });
  const [a, b] = transfers as [FileTransfer, FileTransfer];
  const [linkA, linkB] = links as [Link, Link];
  return { clock, known, a, b, linkA, linkB };
}

function fileOf(bytes: number): Uint8Array {
  const file = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) file[i] = (i * 31) ^ (i >> 11);
  return file;
}

/** Element by element, as toEqual compares them, large files take seconds. */
function expectSame(received: Uint8Array | null, file: Uint8Array): void {
  expect(received?.byteLength).toBe(file.byteLength);
  expect(Buffer.compare(received ?? new Uint8Array(0), file)).toBe(0);
}

/** Lets a promise's outcome be read later without an unhandled rejection. */
async function outcomeOf<T>(promise: Promise<T>): Promise<T | StarlingError> {
  return promise.catch((thrown: unknown) => StarlingError.from(thrown, 'INTERNAL'));
}

describe('a file from one device to another', () => {
  it.each([1, piece - 1, piece, piece + 1, 12 * piece + 7])('arrives whole, %i bytes', async (bytes) => {
    const file = fileOf(bytes);
    const { clock, b } = pair([file]);
    const seen: number[] = [];
    const fetched = b.fetch('a', sha256Hex(file), { ...options, onBytes: (loaded) => seen.push(loaded) });
    await clock.advance(0);
    expectSame(await fetched, file);
    expect(seen).toEqual(seen.toSorted((x, y) => x - y));
    expect([seen.length, seen.at(-1)]).toEqual([Math.ceil(bytes / piece), bytes]);
    expect(b.asked).toBe(0);
  });

  it('is null where the peer has not got it', async () => {
    const { clock, b } = pair([fileOf(10)]);
    const fetched = b.fetch('a', sha256Hex(fileOf(11)), options);
    await clock.advance(0);
    expect(await fetched).toBeNull();
  });

  it('rejects PEER_LOST when the link closes in the middle, and waits for nothing more', async () => {
    const file = fileOf(40 * piece);
    const { clock, b, linkB } = pair([file], { bytesPerSecond: 1_000_000, latencyMs: 5 });
    let loaded = 0;
    const onBytes = (bytes: number) => {
      loaded = bytes;
    };
    const outcome = outcomeOf(b.fetch('a', sha256Hex(file), { ...options, onBytes }));
    await clock.advance(3_000);
    expect(loaded).toBeGreaterThan(piece);
    expect(loaded).toBeLessThan(file.byteLength);
    linkB.close();
    await clock.advance(0);
    expect(await outcome).toMatchObject({ code: 'PEER_LOST' });
    expect(b.asked).toBe(0);
  });

  it('rejects PEER_LOST when the peer falls silent', async () => {
    const file = fileOf(10);
    const { clock, b, a } = pair([file]);
    a.receive = () => undefined;
    const outcome = outcomeOf(b.fetch('a', sha256Hex(file), options));
    await clock.advance(limits.filePieceMs + 1);
    expect(await outcome).toMatchObject({ code: 'PEER_LOST' });
    expect(b.asked).toBe(0);
  });

  it('rejects HASH_MISMATCH when the bytes are not those of the hash', async () => {
    const file = fileOf(3 * piece);
    const { clock, b, known } = pair([file]);
    const changed = file.slice();
    changed[2 * piece + 5] = 1 + (changed[2 * piece + 5] ?? 0);
    known.set(sha256Hex(file), changed);
    const outcome = outcomeOf(b.fetch('a', sha256Hex(file), options));
    await clock.advance(0);
    expect(await outcome).toMatchObject({
      code: 'HASH_MISMATCH',
      message: expect.stringContaining('weights.bin'),
    });
  });

  it('takes no memory for a file that is longer than expected', async () => {
    const file = fileOf(2 * piece);
    const { clock, b } = pair([file]);
    const outcome = outcomeOf(b.fetch('a', sha256Hex(file), { ...options, maxBytes: piece }));
    await clock.advance(0);
    expect(await outcome).toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
  });

  it('queues only the pieces that are asked for, on a slow link too', async () => {
    const file = fileOf(64 * piece);
    const { clock, b, linkA, linkB } = pair([file], { bytesPerSecond: 10_000_000, latencyMs: 20 });
    const fetched = b.fetch('a', sha256Hex(file), options);
    let [queued, reassembled] = [0, 0];
    for (let i = 0; i < 100; i++) {
      await clock.advance(20);
      queued = Math.max(queued, linkA.stats().queuedBytes);
      reassembled = Math.max(reassembled, linkB.stats().reassemblyBytes);
    }
    expectSame(await fetched, file);
    expect(queued).toBeGreaterThan(0);
    const most = limits.filePieces * (piece + 1024);
    expect(queued).toBeLessThanOrEqual(most);
    expect(reassembled).toBeLessThanOrEqual(most);
  });

  it('asks for one file after the other, however many are wanted at once', async () => {
    const files = Array.from({ length: 9 }, (_, i) => fileOf(10 * piece + i));
    const { clock, b, linkA } = pair(files, { bytesPerSecond: 50_000_000, latencyMs: 2 });
    const fetched = Promise.all(files.map((file) => b.fetch('a', sha256Hex(file), options)));
    await clock.advance(2_000);
    (await fetched).forEach((received, i) => {
      expectSame(received, files[i] ?? new Uint8Array(0));
    });
    expect(linkA.stats().dropped).toEqual({});
  });

  it('answers no more questions at once than the limit, however many come', async () => {
    const file = fileOf(piece);
    const { clock, a, b, linkA, linkB } = pair([file], { bytesPerSecond: 100_000, latencyMs: 1 });
    await clock.advance(1_000);
    const questions: TensorFrame[] = [];
    const receive = a.receive.bind(a);
    a.receive = (peer, frame) => {
      questions.push(frame);
      receive(peer, frame);
    };
    const outcome = outcomeOf(b.fetch('a', sha256Hex(file), options));
    await clock.advance(10);
    const [question] = questions;
    if (question === undefined) throw new Error('Nothing was asked.');
    const more = 4 * limits.filePiecesServed;
    for (let i = 1; i <= more; i++) await linkB.send({ ...question, run: question.run + i });
    await clock.advance(200);
    const { queuedBytes, dropped } = linkA.stats();
    expect(queuedBytes).toBeGreaterThan(0);
    expect(queuedBytes).toBeLessThanOrEqual(limits.filePiecesServed * (piece + 1024));
    // All but those that are answered, and those that the channel has taken meanwhile.
    expect(dropped.unasked).toBeGreaterThan(more / 2);
    linkB.close();
    await clock.advance(0);
    expect(await outcome).toMatchObject({ code: 'PEER_LOST' });
  });

  it('drops pieces that nobody asked for', async () => {
    const { clock, linkA, linkB } = pair([]);
    const data = new Uint8Array(8);
    await Promise.all([
      linkA.send({ kind: 'file', epoch: 0, run: 7, transfer: 8, dataType: 'uint8', dims: [8], data }),
      clock.advance(0),
    ]);
    await clock.advance(0);
    expect(linkB.stats().dropped.unasked).toBe(1);
  });
});
