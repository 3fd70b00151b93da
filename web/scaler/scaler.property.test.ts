/** Whatever callers, devices and the clock do: what the scaler promises to each run. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import type { PolicyName } from './policies.ts';
import { createScaler } from './scaler.ts';
import { SimulatedPool } from './testing/simulatedPool.ts';
import { VirtualClock } from './testing/virtualClock.ts';

const submit = fc.record({
  kind: fc.constant('submit' as const),
  caller: fc.constantFrom('a', 'b', 'c', null),
  items: fc.integer({ min: 1, max: 4 }),
  shape: fc.constantFrom('x', 'x', 'x', 'y'),
  isBad: fc.boolean().map((bad) => bad),
  deadlineMs: fc.constantFrom(15, 60, 5_000),
  count: fc.integer({ min: 1, max: 40 }),
});
const happening = fc.oneof(
  { weight: 5, arbitrary: submit },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 400 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('abort' as const), which: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: -1e6, max: 1e6 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('lose' as const), left: fc.integer({ min: 0, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('join' as const), capacity: fc.integer({ min: 1, max: 6 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('slower' as const), factor: fc.constantFrom(0.3, 1, 4) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('objective' as const),
      p95Ms: fc.integer({ min: 1, max: 300 }),
    }),
  },
);

interface Heard {
  readonly id: number;
  readonly caller: string | null;
  readonly outcome: number | StarlingError;
}

describe('the scaler', () => {
  it('settles every run exactly once, with its own answer, in order, in batches within the limits', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { minLength: 5, maxLength: 60 }),
        fc.constantFrom<PolicyName>('joint', 'profiled', 'batching', 'instances', 'clipper'),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 6 }),
        async (happenings, policy, maxBatch, maxInstances) => {
          const clock = new VirtualClock();
          const curve = (items: number, inFlight: number) => 5 + items + inFlight;
          const pool = new SimulatedPool({ clock, curve, capacity: 6, resizeMs: 3 });
          const scaler = createScaler({
            pool,
            clock,
            objective: { p95Ms: 20 },
            limits: { maxBatch, maxInstances, threads: [1] },
            policy,
            queueCapacity: 60,
          });
          const heard: Heard[] = [];
          const settled: number[] = [];
          const controllers: AbortController[] = [];
          let nextId = 0;
          for (const event of happenings) {
            if (event.kind === 'wait') await clock.advance(event.ms);
            else if (event.kind === 'jump') clock.jump(event.ms);
            else if (event.kind === 'lose') pool.lose(event.left);
            else if (event.kind === 'objective') scaler.setObjective(event);
            else if (event.kind === 'slower') pool.curve = (n, m) => event.factor * curve(n, m);
            else if (event.kind === 'abort') controllers[event.which % (controllers.length || 1)]?.abort();
            else if (event.kind === 'join') {
              pool.capacity = event.capacity;
              pool.changed(true);
            } else {
              for (let i = 0; i < event.count; i++) {
                const id = nextId++;
                const { caller, shape, items, isBad, deadlineMs } = event;
                const controller = new AbortController();
                controllers.push(controller);
                const options = {
                  signal: controller.signal,
                  deadlineMs,
                  ...(caller === null ? {} : { caller }),
                };
                const hear = (outcome: number | StarlingError) => {
                  settled.push(id);
                  heard.push({ id, caller, outcome });
                };
                scaler.submit({ id, items, shape, isBad: isBad && i % 7 === 3 }, options).then(hear, hear);
              }
            }
          }
          await clock.advance(20_000);
          expect(settled.toSorted((a, b) => a - b)).toEqual(Array.from({ length: nextId }, (_, i) => i));
          const answered = heard.filter(({ outcome }) => typeof outcome === 'number');
          for (const { id, outcome } of answered) expect(outcome).toBe(id);
          for (const { outcome } of heard) {
            if (typeof outcome !== 'number') expect(outcome).toBeInstanceOf(StarlingError);
          }
          for (const caller of ['a', 'b', 'c']) {
            const ids = answered.filter((one) => one.caller === caller).map(({ id }) => id);
            expect(ids).toEqual(ids.toSorted((a, b) => a - b));
          }
          for (const { items, inFlight } of pool.started) {
            expect(items).toBeLessThanOrEqual(maxBatch);
            expect(inFlight).toBeLessThanOrEqual(maxInstances);
          }
          expect(scaler.stats()).toMatchObject({ queuedRuns: 0, batchesInFlight: 0 });
        },
      ),
      { numRuns: 150 },
    );
  });

  it('still finds its setting after the clock has jumped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: -1e7, max: 1e7 }), { maxLength: 4 }), async (jumps) => {
        const clock = new VirtualClock();
        const pool = new SimulatedPool({ clock, curve: (items) => 10 + 2 * items, capacity: 1 });
        const limits = { maxBatch: 16, maxInstances: 1, threads: [1] };
        const scaler = createScaler({ pool, clock, objective: { p95Ms: 31 }, limits, policy: 'batching' });
        let isOn = true;
        const again = (id: number) => {
          if (isOn) scaler.submit({ id, items: 1, shape: '' }).then(again, again);
        };
        for (let id = 0; id < 50; id++) again(id);
        for (const ms of jumps) {
          await clock.advance(3_000);
          clock.jump(ms);
        }
        await clock.advance(40_000);
        isOn = false;
        expect(scaler.stats().decision.setting.batch).toBeGreaterThanOrEqual(8);
        expect(scaler.stats().decision.setting.batch).toBeLessThanOrEqual(10);
      }),
      { numRuns: 15, endOnFailure: true },
    );
  });
});
