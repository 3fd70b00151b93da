import { describe, expect, it } from 'vitest';
import { decodeFrame } from '../protocol/decodeFrame.ts';
import { encodeFrame } from '../protocol/encodeFrame.ts';
import { limits } from '../protocol/limits.ts';
import { connected, end } from '../tests/support/linkEnds.ts';
import { ManualClock } from './manualClock.ts';
import { createMemoryNetwork } from './memoryChannel.ts';

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
