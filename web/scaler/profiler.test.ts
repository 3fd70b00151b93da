import { describe, expect, it } from 'vitest';
import { limits } from '../../protocol/limits.ts';
import { createScaler } from './scaler.ts';
import type { Decision } from './scalerApi.ts';
import { type LatencyCurve, SimulatedPool } from './testing/simulatedPool.ts';
import { VirtualClock } from './testing/virtualClock.ts';

/** Traffic until the first decision that is no probe, and what was probed, in virtual time. */
async function profileOf(curve: LatencyCurve, maxBatch = 32, maxInstances = 8) {
  const clock = new VirtualClock();
  const pool = new SimulatedPool({ clock, curve, capacity: maxInstances });
  const decisions: Decision[] = [];
  const scaler = createScaler({
    pool,
    clock,
    objective: { p95Ms: 1e5 },
    limits: { maxBatch, maxInstances, threads: [1] },
    policy: 'joint',
    queueCapacity: 10_000,
    onDecision: (decision) => decisions.push(decision),
  });
  let id = 0;
  const submit = () => {
    scaler.submit({ id: id++, items: 1, shape: '' }).then(submit, () => undefined);
  };
  for (let i = 0; i < 2 * maxBatch * maxInstances; i++) submit();
  const isOver = () => decisions.some(({ phase }) => phase !== 'probe');
  await clock.advance(1e6, isOver);
  const profiled = decisions.flatMap(({ report }) => (report === null ? [] : [report.setting]));
  const end = decisions.findIndex(({ phase }) => phase !== 'probe');
  return { ms: clock.now(), probed: profiled.slice(0, end + 1) };
}

/** One core: neither batches nor instances pay. */
const slow =
  (ms: number): LatencyCurve =>
  (items, inFlight) =>
    ms * items * inFlight;

describe('the profile', () => {
  it.each([1, 5, 20, 50, 90, 150, 240, 300, 350])(
    'of runs of %i ms takes no more than its time, and tries both knobs',
    async (ms) => {
      const { ms: spentMs, probed } = await profileOf(slow(ms));
      expect(spentMs).toBeLessThanOrEqual(limits.profileMs);
      expect(Math.max(...probed.map(({ batch }) => batch))).toBeGreaterThanOrEqual(2);
      expect(Math.max(...probed.map(({ instances }) => instances))).toBeGreaterThanOrEqual(2);
    },
  );

  it.each([400, 700, 1500, 5000])('of runs of %i ms takes one run where nothing else fits', async (ms) => {
    const { ms: spentMs } = await profileOf(slow(ms));
    expect(spentMs).toBeLessThanOrEqual(Math.max(limits.profileMs, ms));
  });

  it('goes straight to its farthest settings where runs are quick', async () => {
    const { probed } = await profileOf(slow(5));
    expect(probed.map(({ batch, instances }) => [batch, instances])).toEqual([
      [1, 1],
      [16, 1],
      [1, 7],
    ]);
  });

  it('doubles on where batches turn out to cost little more', async () => {
    const { ms, probed } = await profileOf((items, inFlight) => (240 + items) * Math.max(1, inFlight / 8));
    expect(ms).toBeLessThanOrEqual(limits.profileMs);
    expect(Math.max(...probed.map(({ batch }) => batch))).toBeGreaterThanOrEqual(4);
    expect(Math.max(...probed.map(({ instances }) => instances))).toBeGreaterThanOrEqual(2);
  });

  it('stays within maxima of one and two', async () => {
    for (const [maxBatch, maxInstances] of [
      [1, 1],
      [1, 2],
      [2, 1],
    ] as const) {
      const { ms, probed } = await profileOf(slow(300), maxBatch, maxInstances);
      expect(ms).toBeLessThanOrEqual(limits.profileMs);
      for (const { batch, instances } of probed) {
        expect(batch).toBeLessThanOrEqual(maxBatch);
        expect(instances).toBeLessThanOrEqual(maxInstances);
      }
    }
  });
});
