import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from './manualClock.ts';
import { createMemoryNetwork } from './memoryChannel.ts';

const tick = () => new Promise((resolve) => setTimeout(resolve, 0));

describe('createMemoryNetwork', () => {
  it('delivers later, in order within a pair, in another order between pairs', async () => {
    const seed = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1 });
    let mixed = 0;
    await fc.assert(
      fc.asyncProperty(seed, async (numbers) => {
        let next = 0;
        const network = createMemoryNetwork({ random: () => numbers[next++ % numbers.length] ?? 0 });
        const pairs = [network.pair(), network.pair(), network.pair()];
        const log: [number, number][] = [];
        pairs.forEach(([, right], pair) => {
          right.onmessage = ({ data }: MessageEvent<Uint8Array>) => log.push([pair, data[0] ?? -1]);
        });
        for (let n = 0; n < 5; n++) for (const [left] of pairs) left.send(Uint8Array.of(n));
        expect(log).toEqual([]);
        await tick();
        for (const pair of [0, 1, 2])
          expect(log.filter(([of]) => of === pair).map(([, n]) => n)).toEqual([0, 1, 2, 3, 4]);
        if (log.some(([pair], index) => pair !== index % 3)) mixed++;
        expect([network.deliveredBytes, network.deliveredMessages]).toEqual([15, 15]);
      }),
      { numRuns: 20, seed: 1 },
    );
    expect(mixed).toBeGreaterThan(0);
  });

  it('takes as long as its line needs', async () => {
    const clock = new ManualClock();
    const network = createMemoryNetwork({ shape: { clock, bytesPerSecond: 1000, latencyMs: 50 } });
    const [left, right] = network.pair();
    const arrivals: number[] = [];
    const low: number[] = [];
    right.onmessage = () => arrivals.push(clock.now());
    left.bufferedAmountLowThreshold = 100;
    left.onbufferedamountlow = () => low.push(clock.now());
    left.send(new Uint8Array(100));
    left.send(new Uint8Array(100));
    expect(left.bufferedAmount).toBe(200);
    await clock.advance(1000);
    expect(arrivals).toEqual([150, 250]);
    expect(low).toEqual([100]);
    expect(left.bufferedAmount).toBe(0);
  });

  it('closes the other end after what was sent before', async () => {
    const [left, right] = createMemoryNetwork().pair();
    const log: string[] = [];
    right.onmessage = () => log.push('message');
    right.onclose = () => log.push('close');
    left.send(new Uint8Array(1));
    left.close();
    expect(() => left.send(new Uint8Array(1))).toThrow(/not open/);
    await tick();
    expect(log).toEqual(['message', 'close']);
    expect(right.readyState).toBe('closed');
  });
});
