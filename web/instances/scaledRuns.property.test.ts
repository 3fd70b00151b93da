/** Whatever devices do while many runs are under way: what each caller of a plan with an objective is promised. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { holders } from './placeInstance.ts';
import { ServingRoom } from './testing/servingRoom.ts';

const happening = fc.oneof(
  fc.record({
    kind: fc.constant('submit' as const),
    caller: fc.constantFrom('left', 'right'),
    items: fc.integer({ min: 1, max: 3 }),
    count: fc.integer({ min: 1, max: 30 }),
  }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 300 }) }),
  fc.record({ kind: fc.constant('leave' as const), id: fc.constantFrom('b', 'c', 'd') }),
  fc.record({ kind: fc.constant('join' as const), id: fc.constantFrom('b', 'c', 'd') }),
  fc.record({ kind: fc.constant('refuse' as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('abort' as const), which: fc.nat() }),
  fc.record({
    kind: fc.constant('memory' as const),
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    shards: fc.integer({ min: 0, max: 12 }),
  }),
);

describe('runs under an objective in a room', () => {
  it('settle once each, right and in order, whoever joins, leaves or refuses', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { minLength: 4, maxLength: 40 }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom<number | undefined>(undefined, 1, 2, 4),
        async (happenings, maxBatch, maxInstances, devicesPerInstance) => {
          const room = new ServingRoom();
          const runs = room.scaled({
            slo: { p95Ms: 25 },
            maxBatch: Math.max(3, maxBatch),
            maxInstances,
            devicesPerInstance,
            queueCapacity: 10_000,
          });
          const heard: { readonly id: number; readonly caller: string; readonly right: boolean | string }[] =
            [];
          const controllers: AbortController[] = [];
          let next = 0;
          for (const event of happenings) {
            if (event.kind === 'wait') await room.clock.advance(event.ms);
            else if (event.kind === 'abort') controllers[event.which % (controllers.length || 1)]?.abort();
            else if (event.kind === 'refuse') room.refusals = event.count;
            else if (event.kind === 'memory') room.memory = { ...room.memory, [event.id]: event.shards };
            else if (event.kind === 'leave') {
              room.leave(event.id);
              runs.devicesChanged();
            } else if (event.kind === 'join') {
              room.there.add(event.id);
              runs.devicesChanged();
            } else {
              for (let i = 0; i < event.count; i++) {
                const id = next++;
                const { caller, items } = event;
                const controller = new AbortController();
                controllers.push(controller);
                const x = float32Tensor([items, 1], new Float32Array(items).fill(id));
                runs.run({ x }, { caller, signal: controller.signal, deadlineMs: 60_000 }).then(
                  ({ outputs, batch }) => {
                    const { y } = outputs;
                    const right =
                      y !== undefined &&
                      y.dims[0] === items &&
                      [...float32View(y)].every((value) => value === id) &&
                      batch.items <= Math.max(3, maxBatch);
                    heard.push({ id, caller, right });
                  },
                  (error: StarlingError) => heard.push({ id, caller, right: error.code }),
                );
              }
            }
          }
          await room.clock.advance(120_000);
          expect(heard.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(
            Array.from({ length: next }, (_, i) => i),
          );
          for (const { right } of heard) expect([true, 'RUN_ABORTED']).toContain(right);
          for (const caller of ['left', 'right']) {
            const ids = heard
              .filter((one) => one.caller === caller && one.right === true)
              .map(({ id }) => id);
            expect(ids).toEqual(ids.toSorted((a, b) => a - b));
          }
          for (const { items } of room.batches) expect(items).toBeLessThanOrEqual(Math.max(3, maxBatch));
          expect(runs.stats()).toMatchObject({ queuedRuns: 0, batchesInFlight: 0 });
          runs.close(new StarlingError('RUN_ABORTED', 'Done.'));
          await room.clock.advance(10_000);
          expect(room.instances.size).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('divides an instance over so many devices as the objective needs, and no more', async () => {
    for (const [p95Ms, devices] of [
      [25, 1],
      [9, 2],
      [4, 4],
    ] as const) {
      const room = new ServingRoom();
      const runs = room.scaled({ slo: { p95Ms }, maxBatch: 1, maxInstances: 1 });
      let isOn = true;
      const again = () => {
        const x = float32Tensor([1, 1], [1]);
        if (isOn) runs.run({ x }, {}).then(again, again);
      };
      for (let i = 0; i < 8; i++) again();
      await room.clock.advance(10_000);
      expect(runs.stats().placements.map((placement) => placement.length)).toEqual([devices]);
      isOn = false;
      runs.close(new StarlingError('RUN_ABORTED', 'Done.'));
    }
  });

  it('places whole models on different devices, this one first', async () => {
    const room = new ServingRoom();
    const runs = room.scaled({ slo: { p95Ms: 1000 }, policy: { fixed: { batch: 1, instances: 4 } } });
    await room.clock.advance(1_000);
    expect(runs.stats().placements).toEqual([['a'], ['b'], ['c'], ['d']]);
    expect(holders({ devices: ['a', 'b'], shards: [[], [0]] })).toEqual(['b']);
    runs.close(new StarlingError('RUN_ABORTED', 'Done.'));
  });

  it.each([
    // Whole models: as many as fit on all devices together, wherever that is; a also feeds those of others.
    [{ a: 4.5, b: 4, c: 0, d: 0 }, 8, 1, ['a', 'b']],
    [{ a: 8.5, b: 4, c: 3, d: 0 }, 8, 1, ['a', 'a', 'b']],
    [{ a: 4, b: 4, c: 4, d: 4 }, 8, 1, ['a']],
    [{ a: 0.5, b: 8, c: 0, d: 0 }, 8, 1, ['b']],
    // No device holds a whole one.
    [{ a: 3, b: 3, c: 3, d: 3 }, 3, undefined, ['a,b', 'c,d']],
  ] as const)('makes no more instances than %o holds', async (memory, maxInstances, perDevice, expected) => {
    const room = new ServingRoom();
    room.memory = memory;
    const runs = room.scaled({
      slo: { p95Ms: 1000 },
      maxBatch: 1,
      maxInstances,
      devicesPerInstance: perDevice,
      policy: { fixed: { batch: 1, instances: maxInstances } },
      queueCapacity: 64,
    });
    await room.clock.advance(5_000);
    const { placements, refusal } = runs.stats();
    expect(placements.map((devices) => devices.join()).toSorted()).toEqual(expected);
    expect(refusal?.code).toBe('MEMORY_LIMIT');
    expect(refusal?.message).toMatch(/Device [abcd] is full\./);
    const x = float32Tensor([1, 1], [1]);
    const asked = Array.from({ length: 80 }, () => runs.run({ x }, {}));
    const settled = Promise.allSettled(asked);
    await room.clock.advance(5_000);
    const refused = (await settled).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(refused.length).toBeGreaterThan(0);
    expect(String(refused[0])).toMatch(/no more instances because: Device [abcd] is full/);
    runs.close(new StarlingError('RUN_ABORTED', 'Done.'));
  });
});
