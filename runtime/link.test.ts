import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFrame } from '../protocol/encodeFrame.ts';
import { limits } from '../protocol/limits.ts';
import { connected, end, tensor } from '../tests/support/linkEnds.ts';
import type { LinkOptions } from './link.ts';
import { ManualClock } from './manualClock.ts';
import { createMemoryNetwork } from './memoryChannel.ts';

describe('link: data', () => {
  it('carries frames of any size both ways, in the order of calls', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(sizes, sizes, fc.integer({ min: 64, max: 1000 }), async (there, back, chunkBytes) => {
        const { clock, a, b } = connected({ chunkBytes });
        const out = there.map((bytes, transfer) => tensor(transfer, bytes));
        const home = back.map((bytes, transfer) => tensor(transfer, bytes));
        const sent = [...out.map((frame) => a.link.send(frame)), ...home.map((frame) => b.link.send(frame))];
        await clock.advance(0);
        await Promise.all(sent);
        expect(b.frames).toEqual(out);
        expect(a.frames).toEqual(home);
      }),
      { numRuns: 30 },
    );
  });

  it('stops at a full buffer and goes on when it drains, without timers of its own', async () => {
    const bytesPerSecond = 1024 * 1024;
    const { clock, left, a, b } = connected({}, { bytesPerSecond, latencyMs: 10 });
    await clock.advance(50);
    const settled: number[] = [];
    const sent = [1, 2, 3, 4].map((n) => a.link.send(tensor(n, bytesPerSecond)).then(() => settled.push(n)));
    const most = limits.channelBufferedBytes + limits.frameChunkBytes;
    expect(left.bufferedAmount).toBeLessThanOrEqual(most);
    expect(a.link.stats().queuedBytes).toBeGreaterThan(4 * bytesPerSecond - most);
    await clock.advance(1000);
    // A second carries one of the four; the second one is in the channel's buffer at most.
    expect(b.frames).toHaveLength(0);
    expect(settled.length).toBeLessThan(3);
    expect(left.bufferedAmount).toBeLessThanOrEqual(most);
    await clock.advance(4000);
    await Promise.all(sent);
    expect(settled).toEqual([1, 2, 3, 4]);
    // Buffer.compare, because toEqual takes seconds for megabytes.
    const same = b.frames.map(
      (frame, i) => 'data' in frame && Buffer.compare(frame.data, tensor(i + 1, bytesPerSecond).data),
    );
    expect(same).toEqual([0, 0, 0, 0]);
  });

  it('counts bytes alike at both ends, headers included', async () => {
    const { clock, network, a, b } = connected({ chunkBytes: 1000 });
    await clock.advance(0);
    void a.link.send(tensor(1, 5000));
    void b.link.send({ kind: 'abort', epoch: 1, run: 9, reason: 'RUN_ABORTED' });
    await clock.advance(0);
    const [left, right] = [a.link.stats(), b.link.stats()];
    expect(left.sentBytes).toBe(right.receivedBytes);
    expect(right.sentBytes).toBe(left.receivedBytes);
    expect(left.sentMessages).toBe(right.receivedMessages);
    expect(left.sentBytes + right.sentBytes).toBe(network.deliveredBytes);
    expect(left.sentBytes).toBeGreaterThan(5000);
    expect(a.frames).toEqual([{ kind: 'abort', epoch: 1, run: 9, reason: 'RUN_ABORTED' }]);
  });

  it('drops and counts what is malformed, stale or unasked, and lives on', async () => {
    const clock = new ManualClock();
    const [left, right] = createMemoryNetwork().pair();
    const accept: LinkOptions['accept'] = ({ epoch, transfer }) =>
      epoch < 1 ? 'stale' : transfer === 7 ? 'unasked' : 'accept';
    const a = end(left, clock);
    const b = end(right, clock, { accept });
    await clock.advance(0);
    left.send(new Uint8Array(100));
    right.onmessage?.(new MessageEvent('message', { data: 'text' }));
    const [pong] = encodeFrame({ kind: 'pong', sequence: 77 });
    if (pong !== undefined) left.send(pong);
    void a.link.send({ ...tensor(1, 10), epoch: 0 });
    void a.link.send(tensor(7, 10));
    void a.link.send(tensor(8, 10));
    await clock.advance(0);
    expect(b.link.stats().dropped).toEqual({ magic: 1, notBytes: 1, unasked: 2, stale: 1 });
    expect(b.frames).toEqual([tensor(8, 10)]);
    expect(b.closed).toEqual([]);
  });

  it('frees the parts of a run that ended', async () => {
    const { clock, left, b } = connected();
    await clock.advance(0);
    const [first] = encodeFrame(tensor(1, 5000), 1000);
    if (first !== undefined) left.send(first);
    await clock.advance(0);
    expect(b.link.stats().reassemblyBytes).toBeGreaterThan(5000);
    b.link.discard(({ run }) => run === 1);
    expect(b.link.stats().reassemblyBytes).toBe(0);
  });

  it('rejects a frame that contradicts itself, and nothing else', async () => {
    const { clock, a, b } = connected();
    await expect(a.link.send({ ...tensor(1, 10), dims: [11] })).rejects.toMatchObject({
      code: 'MESSAGE_INVALID',
    });
    const sent = a.link.send(tensor(2, 10));
    await clock.advance(0);
    await sent;
    expect(b.frames).toEqual([tensor(2, 10)]);
  });
});

describe('link: end', () => {
  it('rejects everything that waits when the peer closes in the middle, at both ends', async () => {
    const { clock, a, b } = connected({}, { bytesPerSecond: 1024 * 1024, latencyMs: 10 });
    await clock.advance(50);
    const lost = { code: 'PEER_LOST' };
    const sent = [1, 2, 3].map((n) => expect(a.link.send(tensor(n, 2 ** 21))).rejects.toMatchObject(lost));
    await clock.advance(300);
    expect(b.link.stats().reassemblyBytes).toBeGreaterThan(2 ** 21);
    b.link.close();
    await clock.advance(3000);
    await Promise.all(sent);
    expect(b.link.stats().reassemblyBytes).toBe(0);
    await expect(a.link.send(tensor(4, 1))).rejects.toMatchObject(lost);
    await expect(b.link.send(tensor(4, 1))).rejects.toMatchObject(lost);
    expect([a.closed.length, b.closed.length]).toEqual([1, 1]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('delivers what was handed to the channel before a close', async () => {
    const { clock, a, b } = connected();
    await clock.advance(0);
    await a.link.send(tensor(1, 200_000));
    a.link.close();
    await clock.advance(0);
    expect(b.frames).toHaveLength(1);
    expect(b.closed).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('hands nothing to a channel that is closing, though its buffer has room', async () => {
    const { clock, left, a } = connected({}, { bytesPerSecond: 1024 * 1024, latencyMs: 10 });
    await clock.advance(50);
    const sent = expect(a.link.send(tensor(1, 2 ** 22))).rejects.toMatchObject({ code: 'PEER_LOST' });
    Object.assign(left, { readyState: 'closing', send: () => {}, bufferedAmount: 0 });
    left.onbufferedamountlow?.(new Event('bufferedamountlow'));
    await sent;
    expect(a.closed).toHaveLength(1);
  });

  it('ends when the channel refuses a message', async () => {
    const { clock, left, a } = connected();
    await clock.advance(0);
    left.send = () => {
      throw new TypeError('too large');
    };
    const sent = a.link.send(tensor(1, 10));
    await expect(sent).rejects.toMatchObject({ code: 'PEER_LOST', cause: expect.any(TypeError) });
    expect(a.closed).toHaveLength(1);
  });
});
