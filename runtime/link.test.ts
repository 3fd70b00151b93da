import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StarlingError } from '../protocol/errors.ts';
import { decodeFrame, encodeFrame, type Frame, frameVersion, type TensorFrame } from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import type { MessageChannelLike } from './channel.ts';
import { createLink, type Link, type LinkOptions } from './link.ts';
import { ManualClock } from './manualClock.ts';
import { createMemoryNetwork } from './memoryChannel.ts';

interface End {
  readonly link: Link;
  readonly frames: Frame[];
  readonly closed: StarlingError[];
}

function end(channel: MessageChannelLike, clock: ManualClock, more: Partial<LinkOptions> = {}): End {
  const frames: Frame[] = [];
  const closed: StarlingError[] = [];
  const link = createLink({
    channel,
    clock,
    accept: () => 'accept',
    onFrame: (frame) => frames.push(frame),
    onClose: (reason) => closed.push(reason),
    ...more,
  });
  return { link, frames, closed };
}

function connected(more: Partial<LinkOptions> = {}, shape?: { bytesPerSecond: number; latencyMs: number }) {
  const clock = new ManualClock();
  const network = createMemoryNetwork(shape === undefined ? {} : { shape: { clock, ...shape } });
  const [left, right] = network.pair();
  return { clock, network, left, right, a: end(left, clock, more), b: end(right, clock, more) };
}

function tensor(transfer: number, bytes: number): TensorFrame {
  const data = Uint8Array.from({ length: bytes }, (_, i) => i * 13 + transfer);
  return { kind: 'tensor', epoch: 1, run: 1, transfer, dataType: 'uint8', dims: [bytes], data };
}

describe('link: greeting', () => {
  it('opens both ends, and sends nothing else before', async () => {
    const { clock, a, b } = connected();
    const sent = a.link.send(tensor(1, 10));
    expect(a.link.stats().sentBytes).toBe(0);
    expect(a.link.stats().queuedBytes).toBeGreaterThan(10);
    await clock.advance(0);
    await Promise.all([a.link.opened, b.link.opened, sent]);
    expect(b.frames).toEqual([tensor(1, 10)]);
    expect(a.link.stats().queuedBytes).toBe(0);
  });

  it('repeats its hello until an end that came late hears it', async () => {
    const clock = new ManualClock();
    const [left, right] = createMemoryNetwork().pair();
    const a = end(left, clock);
    const sent = a.link.send(tensor(1, 10));
    // Nobody listens on the other end yet: what arrives there is lost, as in Chromium.
    await clock.advance(3 * limits.helloMs + 1);
    expect(a.link.stats().sentMessages).toBe(4);
    const b = end(right, clock);
    await clock.advance(limits.helloMs);
    await Promise.all([a.link.opened, b.link.opened, sent]);
    expect(b.frames).toHaveLength(1);
    // No more hellos: from here on there are only pings and their answers.
    const { sentMessages } = a.link.stats();
    await clock.advance(3 * limits.helloMs);
    expect(a.link.stats().sentMessages).toBe(sentMessages);
  });

  it('waits for a channel that still connects', async () => {
    const clock = new ManualClock();
    const [left, right] = createMemoryNetwork().pair();
    const slow = Object.assign(left, { readyState: 'connecting' as MessageChannelLike['readyState'] });
    const a = end(left, clock);
    end(right, clock);
    await clock.advance(1000);
    expect(a.link.stats().sentMessages).toBe(0);
    slow.readyState = 'open';
    left.onopen?.(new Event('open'));
    await clock.advance(limits.helloMs);
    await a.link.opened;
  });

  it('gives up on a peer that never greets', async () => {
    const clock = new ManualClock();
    const [left] = createMemoryNetwork().pair();
    const a = end(left, clock, { greetMs: 500, peer: 'tablet' });
    const sent = expect(a.link.send(tensor(1, 10))).rejects.toMatchObject({ code: 'PEER_UNREACHABLE' });
    const opened = expect(a.link.opened).rejects.toThrow(
      /device tablet has ended: it has not greeted within 500 ms/,
    );
    await clock.advance(500);
    await Promise.all([sent, opened]);
    expect(a.closed).toHaveLength(1);
    expect(left.readyState).toBe('closed');
    expect(clock.pendingTimers).toBe(0);
  });

  it('refuses a peer of another version', async () => {
    const clock = new ManualClock();
    const [left, right] = createMemoryNetwork().pair();
    const a = end(left, clock);
    const [hello] = encodeFrame({ kind: 'hello' });
    if (hello === undefined) throw new Error('Expected a message.');
    hello[2] = frameVersion + 1;
    right.send(hello);
    const opened = expect(a.link.opened).rejects.toMatchObject({ code: 'PROTOCOL_VERSION' });
    await clock.advance(0);
    await opened;
  });

  it('says so when the channel was closed before', async () => {
    const clock = new ManualClock();
    const [left] = createMemoryNetwork().pair();
    left.close();
    const a = end(left, clock);
    expect(a.closed).toHaveLength(0);
    await expect(a.link.opened).rejects.toMatchObject({ code: 'PEER_LOST' });
    expect(a.closed).toHaveLength(1);
  });
});

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

describe('link: round trip', () => {
  it('is measured, smoothed, and kept at its smallest', async () => {
    const shape = { bytesPerSecond: 1e9, latencyMs: 20 };
    const { clock, a } = connected({}, shape);
    await clock.advance(200);
    expect(a.link.stats().roundTripMs).toBeCloseTo(40, 2);
    shape.latencyMs = 60;
    await clock.advance(2 * limits.heartbeatMs);
    const { roundTripMs, minRoundTripMs } = a.link.stats();
    expect(minRoundTripMs).toBeCloseTo(40, 2);
    expect(roundTripMs).toBeGreaterThan(40);
    expect(roundTripMs).toBeLessThan(120);
  });

  /** A peer played by hand: it answers hellos and pings while it is `awake`. */
  function watched(lostMs: number) {
    const clock = new ManualClock();
    const [left, right] = createMemoryNetwork().pair();
    const a = end(left, clock, { lostMs });
    const peer = { awake: true };
    right.onmessage = ({ data }: MessageEvent<Uint8Array>) => {
      const decoded = decodeFrame(data);
      if (!peer.awake || !decoded.ok) return;
      const { frame } = decoded;
      if (frame.kind === 'hello') for (const m of encodeFrame({ kind: 'helloAck' })) right.send(m);
      if (frame.kind === 'ping')
        for (const m of encodeFrame({ kind: 'pong', sequence: frame.sequence })) right.send(m);
    };
    return { clock, a, peer };
  }

  it('gives up a peer that has gone silent, with what waits for it', async () => {
    const { clock, a, peer } = watched(3000);
    await clock.advance(20_100);
    // An idle peer answers pings and lives.
    expect(a.closed).toEqual([]);
    expect(a.link.stats().silentMs).toBeLessThan(limits.heartbeatMs);
    peer.awake = false;
    await clock.advance(2000);
    expect(a.closed).toEqual([]);
    await clock.advance(3000);
    expect(a.closed).toMatchObject([
      { code: 'PEER_LOST', message: expect.stringContaining('silent for 3000 ms') },
    ]);
  });

  it('does not mistake its own pause for silence of the peer', async () => {
    const { clock, a } = watched(3000);
    await clock.advance(1100);
    // This thread computes: the tick comes ten seconds late, and before anything the peer has sent since.
    clock.jump(10_000);
    await clock.advance(5000);
    expect(a.closed).toEqual([]);
    expect(a.link.stats().silentMs).toBeLessThan(limits.heartbeatMs);
  });
});
