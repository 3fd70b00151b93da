import { describe, expect, it } from 'vitest';
import { encodeFrame } from '../protocol/encodeFrame.ts';
import { frameVersion } from '../protocol/frameLayout.ts';
import { limits } from '../protocol/limits.ts';
import { connected, end, tensor } from '../tests/support/linkEnds.ts';
import type { MessageChannelLike } from './channel.ts';
import { ManualClock } from './manualClock.ts';
import { createMemoryNetwork } from './memoryChannel.ts';

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
