import { describe, expect, it } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import { createScaler } from './scaler.ts';
import type { Decision, ScalerOptions } from './scalerApi.ts';
import type { WindowReport } from './setting.ts';
import { type LatencyCurve, SimulatedPool, type SimulatedRun } from './testing/simulatedPool.ts';
import { VirtualClock } from './testing/virtualClock.ts';

const affine: LatencyCurve = (items, inFlight) => Math.max(10 + 2 * items, inFlight * (2 + 2 * items));

function scalerOn(
  curve: LatencyCurve,
  options: Partial<ScalerOptions<SimulatedRun, number>> = {},
  capacity = 8,
) {
  const clock = new VirtualClock();
  const pool = new SimulatedPool({ clock, curve, capacity, resizeMs: 5 });
  const scaler = createScaler({
    pool,
    clock,
    objective: { p95Ms: 40 },
    limits: { maxBatch: 16, maxInstances: 8, threads: [1] },
    ...options,
  });
  let nextId = 0;
  const run = (about: Partial<SimulatedRun> = {}): SimulatedRun => ({
    id: nextId++,
    items: 1,
    shape: '',
    ...about,
  });
  /** From now on so many runs wait or are under way. */
  const press = (outstanding: number) => {
    const again = () => {
      scaler.submit(run()).then(again, again);
    };
    for (let i = 0; i < outstanding; i++) again();
  };
  return { clock, pool, scaler, run, press };
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    (error: unknown) => (error instanceof StarlingError ? error.code : 'other'),
  );

describe('createScaler', () => {
  it('starts a run at once, though the batch is not full', async () => {
    const { clock, scaler, run } = scalerOn(affine, { policy: { fixed: { batch: 8, instances: 1 } } });
    await clock.advance(10);
    const answer = scaler.submit(run());
    await clock.advance(12);
    await expect(answer).resolves.toBe(0);
  });

  it('raises throughput to the objective and holds it there', async () => {
    const { clock, scaler, press } = scalerOn(affine);
    press(200);
    await clock.advance(30_000);
    const { decision, missedWindows, windows } = scaler.stats();
    expect(decision.phase).toBe('hold');
    expect(decision.report?.p95Ms).toBeLessThanOrEqual(40);
    expect(decision.report?.throughput).toBeGreaterThan(400);
    expect(missedWindows).toBeLessThan(0.05 * windows);
  });

  it('follows a new objective within a few windows', async () => {
    const { clock, scaler, press } = scalerOn(affine, { policy: 'batching' });
    press(100);
    await clock.advance(15_000);
    expect(scaler.stats().decision.setting.batch).toBeGreaterThanOrEqual(12);
    const before = scaler.stats().windows;
    scaler.setObjective({ p95Ms: 20 });
    while (scaler.stats().decision.phase !== 'hold') await clock.advance(10);
    expect(scaler.stats().windows - before).toBeLessThanOrEqual(4);
    expect(scaler.stats().decision.setting.batch).toBeLessThanOrEqual(5);
  });

  it('leaves the setting alone while the load does not fill it', async () => {
    const { clock, scaler, press } = scalerOn(affine);
    press(1);
    await clock.advance(20_000);
    const { decision, throughput } = scaler.stats();
    expect(decision.setting).toEqual({ batch: 1, instances: 1, threads: 1 });
    expect(throughput).toBeGreaterThan(40);
  });

  it('gives every caller its own error when one input of a batch is bad', async () => {
    const { clock, scaler, run } = scalerOn(affine, { policy: { fixed: { batch: 4, instances: 1 } } });
    const first = scaler.submit(run());
    const batch = [run(), run({ isBad: true }), run()].map((input) => codeOf(scaler.submit(input)));
    await clock.advance(1_000);
    await expect(first).resolves.toBe(0);
    await expect(Promise.all(batch)).resolves.toEqual(['answered', 'RUN_FAILED', 'answered']);
  });

  it('stops a batch that nobody waits for any more', async () => {
    const { clock, scaler, run, pool } = scalerOn(() => 1_000, {
      policy: { fixed: { batch: 2, instances: 1 } },
    });
    await clock.advance(10);
    const controller = new AbortController();
    const called = codeOf(scaler.submit(run(), { signal: controller.signal }));
    const timed = codeOf(scaler.submit(run(), { deadlineMs: 300 }));
    await clock.advance(100);
    controller.abort();
    await clock.advance(10);
    expect(pool.started.length).toBe(2);
    await clock.advance(300);
    await expect(Promise.all([called, timed])).resolves.toEqual(['RUN_ABORTED', 'RUN_TIMEOUT']);
    expect(scaler.stats().batchesInFlight).toBe(0);
  });

  it('refuses a run larger than the largest batch, and limits that make no sense', async () => {
    const { scaler, run } = scalerOn(affine);
    await expect(scaler.submit(run({ items: 17 }))).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    const none = { limits: { maxBatch: 0, maxInstances: 1, threads: [1] } };
    expect(() => scalerOn(affine, none)).toThrow('Expected maxBatch');
    expect(() => scaler.setObjective({ p95Ms: Number.NaN })).toThrow('Expected an objective');
  });

  it('lives with fewer instances than it asked for', async () => {
    const { clock, scaler, press, pool } = scalerOn((items) => 10 * items, { policy: 'instances' }, 3);
    press(50);
    await clock.advance(20_000);
    expect(pool.size).toBe(3);
    expect(scaler.stats().decision.setting.instances).toBe(3);
    expect(scaler.stats().decision.phase).toBe('hold');
  });

  it('measures nothing across a moment at which the clock was set back', async () => {
    const reports: WindowReport[] = [];
    const onDecision = ({ report }: Decision) => {
      if (report !== null) reports.push(report);
    };
    const { clock, press } = scalerOn(affine, { onDecision });
    press(200);
    for (let i = 0; i < 20; i++) {
      await clock.advance(2_777);
      clock.jump(-100_000);
    }
    expect(reports.length).toBeGreaterThan(10);
    for (const { p95Ms, throughput } of reports) {
      expect(p95Ms).toBeGreaterThanOrEqual(12);
      expect(throughput).toBeLessThan(1_000);
    }
  });

  it('forgives one moment in which the machine slept, not devices that have become slow', async () => {
    const { clock, scaler, press, pool } = scalerOn(affine, { policy: 'batching' });
    press(100);
    await clock.advance(15_000);
    const { setting } = scaler.stats().decision;
    const missed = scaler.stats().missedWindows;
    clock.jump(3_600_000);
    await clock.advance(5_000);
    expect(scaler.stats().decision.setting).toEqual(setting);
    expect(scaler.stats().missedWindows).toBe(missed);
    pool.curve = (items) => 600 * items;
    await clock.advance(60_000);
    expect(scaler.stats().decision.setting.batch).toBe(1);
  });

  it('measures again when devices change', async () => {
    const { clock, scaler, press, pool } = scalerOn(affine);
    press(200);
    await clock.advance(20_000);
    pool.lose(1);
    await clock.advance(20_000);
    expect(scaler.stats().decision.setting.instances).toBe(1);
    pool.capacity = 8;
    pool.curve = (items, inFlight) => 30 * items * Math.max(1, inFlight / 6);
    pool.changed(true);
    await clock.advance(20_000);
    expect(scaler.stats().decision.setting).toMatchObject({ batch: 1, instances: 7 });
  });

  it('answers everybody when it is closed', async () => {
    const { clock, scaler, run } = scalerOn(affine, { policy: { fixed: { batch: 1, instances: 1 } } });
    const runs = [run(), run(), run()].map((input) => codeOf(scaler.submit(input)));
    await clock.advance(8);
    scaler.close(new StarlingError('RUN_ABORTED', 'The page left the room.'));
    runs.push(codeOf(scaler.submit(run())));
    await clock.advance(1);
    await expect(Promise.all(runs)).resolves.toEqual(new Array(4).fill('RUN_ABORTED'));
  });

  it('tells an overloaded caller how long what waits will take', async () => {
    const options = { policy: { fixed: { batch: 1, instances: 1 } }, queueCapacity: 10 } as const;
    const { clock, scaler, run } = scalerOn(() => 100, options);
    for (let i = 0; i < 8; i++) void scaler.submit(run());
    await clock.advance(505);
    for (let i = 0; i < 8; i++) void codeOf(scaler.submit(run()));
    await expect(scaler.submit(run())).rejects.toMatchObject({
      code: 'OVERLOADED',
      expectedWaitMs: expect.closeTo(1000, -2),
    });
  });
});
