import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import { url, watch } from './testing/rooms.ts';
import { SimulatedRoom, ticks } from './testing/simulatedRoom.ts';

describe('Coordinator', () => {
  it('settles every run exactly once, whatever joins, leaves, fails and overtakes', async () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd');
    const action = fc.oneof(
      { weight: 12, arbitrary: fc.record({ do: fc.constant('deliver' as const), a: id, b: id }) },
      { weight: 8, arbitrary: fc.record({ do: fc.constant('finish' as const), at: fc.nat(7) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), at: fc.nat(7) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('run' as const), a: id }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('connect' as const), a: id, b: id }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('disconnect' as const), a: id, b: id }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('add' as const), a: id }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), a: id }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('load' as const), a: id, other: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('mayStop' as const), a: id, on: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const), at: fc.nat(7) }) },
      {
        weight: 2,
        arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 120 }), async (actions) => {
        const room = new SimulatedRoom();
        const seen: { watched: ReturnType<typeof watch>; mayReject: () => boolean }[] = [];
        const aborts: AbortController[] = [];
        const loads: ReturnType<typeof watch>[] = [];
        const removed = new Set<object>();
        const replaced = new Map<object, number>();
        const join = (name: string) => {
          if (room.coordinators.has(name)) return;
          const coordinator = room.add(name);
          room.connectAll();
          loads.push(watch(coordinator.load(url)));
        };
        join('a');
        join('b');
        for (const step of actions) {
          if (step.do === 'deliver') room.deliver(step.a, step.b);
          else if (step.do === 'finish') room.pending()[step.at]?.finish();
          else if (step.do === 'fail') {
            const call = room.pending()[step.at];
            // A device that runs alone has nobody to lose.
            const losesPeer = (call?.devices?.length ?? 0) > 1;
            call?.finish(new StarlingError(losesPeer ? 'PEER_LOST' : 'SESSION_FAILED', 'On purpose.'));
          } else if (step.do === 'connect') room.connect(step.a, step.b);
          else if (step.do === 'disconnect') room.disconnect(step.a, step.b);
          else if (step.do === 'add') join(step.a);
          else if (step.do === 'mayStop') room.coordinators.get(step.a)?.describe({ mayStop: step.on });
          else if (step.do === 'abort') aborts[step.at]?.abort();
          else if (step.do === 'wait') room.clock.advance(step.ms);
          else if (step.do === 'remove') {
            const coordinator = room.coordinators.get(step.a);
            if (coordinator !== undefined) removed.add(coordinator);
            room.remove(step.a);
          } else if (step.do === 'load') {
            const coordinator = room.coordinators.get(step.a);
            if (coordinator === undefined) continue;
            replaced.set(coordinator, (replaced.get(coordinator) ?? 0) + 1);
            loads.push(watch(coordinator.load(step.other ? `${url}?other` : url)));
          } else {
            const coordinator = room.coordinators.get(step.a);
            if (coordinator === undefined) continue;
            const controller = new AbortController();
            aborts.push(controller);
            const loads = replaced.get(coordinator) ?? 0;
            const watched = watch(coordinator.run({}, { signal: controller.signal }));
            seen.push({
              watched,
              // A run may be rejected only for one of these reasons; else it must have an answer.
              mayReject: () =>
                controller.signal.aborted ||
                removed.has(coordinator) ||
                (replaced.get(coordinator) ?? 0) > loads ||
                // No plan was loaded yet, or this device itself was made to fail.
                watched.outcome === 'RUN_FAILED' ||
                watched.outcome === 'SESSION_FAILED',
            });
          }
          await ticks();
        }
        room.connectAll();
        await room.settle();
        for (const { watched, mayReject } of seen) {
          expect(watched.times).toBe(1);
          if (!mayReject()) expect(watched.outcome).toBe('answer');
        }
        for (const { times } of loads) expect(times).toBe(1);
        expect(room.pending()).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
