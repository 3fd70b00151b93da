import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import { SimulatedRoom, ticks } from './testing/simulatedRoom.ts';

const url = 'http://localhost/plan.json';

/** What became of a promise, without waiting for it. */
function watch<T>(promise: Promise<T>): { outcome: 'pending' | 'answer' | string; times: number; value?: T } {
  const seen: { outcome: string; times: number; value?: T } = { outcome: 'pending', times: 0 };
  promise.then(
    (value) => Object.assign(seen, { outcome: 'answer', value, times: seen.times + 1 }),
    (error: StarlingError) => Object.assign(seen, { outcome: error.code, times: seen.times + 1 }),
  );
  return seen;
}

async function roomOf(...ids: string[]): Promise<SimulatedRoom> {
  const room = new SimulatedRoom();
  for (const id of ids) room.add(id);
  room.connectAll();
  await room.settle();
  return room;
}

const pageOf = (room: SimulatedRoom, id: string) => {
  const coordinator = room.coordinators.get(id);
  const device = room.devices.get(id);
  if (coordinator === undefined || device === undefined) throw new Error(`no page ${id}`);
  return { coordinator, device };
};

describe('Coordinator', () => {
  it('runs alone', async () => {
    const room = await roomOf('a');
    const { coordinator } = pageOf(room, 'a');
    const load = watch(coordinator.load(url));
    await room.settle();
    expect(load.outcome).toBe('answer');
    const run = watch(coordinator.run({}));
    await room.settle();
    expect(run.value).toMatchObject({ restarts: 0, devices: 1 });
  });

  it('gives every device its share, and starts no run before all have loaded', async () => {
    const room = await roomOf('a', 'b', 'c');
    const { coordinator, device } = pageOf(room, 'b');
    void coordinator.load(url);
    await room.settle();
    expect(coordinator.state.placement).toMatchObject({ host: 'b', devices: ['b', 'a', 'c'] });
    expect(pageOf(room, 'c').device.loaded).toEqual(device.loaded);
    const run = watch(coordinator.run({}));
    await room.settle();
    expect(run.value).toMatchObject({ devices: 3 });
  });

  it('runs on this device alone while asked to, and over the room again after that', async () => {
    const room = await roomOf('a', 'b');
    const { coordinator } = pageOf(room, 'a');
    void coordinator.load(url);
    await room.settle();
    const devices: unknown[] = [];
    for (const choice of ['all', 'own', 'own', 'all'] as const) {
      coordinator.useDevices(choice);
      const run = watch(coordinator.run({}));
      await room.settle();
      devices.push(run.value?.devices);
    }
    expect(devices).toEqual([2, 1, 1, 2]);
    // Another plan starts with everybody.
    coordinator.useDevices('own');
    void coordinator.load(`${url}?other`);
    await room.settle();
    expect(coordinator.state.placement?.devices).toEqual(['a', 'b']);
  });

  it('takes up a device that joins during a run only at the next one', async () => {
    const room = await roomOf('a');
    const { coordinator, device } = pageOf(room, 'a');
    void coordinator.load(url);
    await room.settle();
    const runs = [watch(coordinator.run({})), watch(coordinator.run({}))];
    await ticks();
    room.add('b');
    room.connectAll();
    await room.settle({ runs: false });
    expect(coordinator.state.placement?.devices).toEqual(['a']);
    expect(device.calls.map(({ kind }) => kind)).toEqual(['run']);
    await room.settle();
    expect(runs.map(({ value }) => value?.devices)).toEqual([1, 2]);
    expect(runs[0]?.value?.restarts).toBe(0);
  });

  it('starts a run again when a device leaves in the middle of it', async () => {
    const room = await roomOf('a', 'b', 'c');
    const { coordinator } = pageOf(room, 'a');
    void coordinator.load(url);
    await room.settle();
    const run = watch(coordinator.run({}));
    await ticks();
    room.remove('c');
    await ticks();
    expect(run.outcome).toBe('pending');
    await room.settle();
    expect(run.value).toMatchObject({ restarts: 1, devices: 2 });
  });

  it('runs alone when everybody else has left', async () => {
    const room = await roomOf('a', 'b', 'c');
    const { coordinator } = pageOf(room, 'a');
    void coordinator.load(url);
    await room.settle();
    const run = watch(coordinator.run({}));
    await ticks();
    room.remove('b');
    room.remove('c');
    await room.settle();
    expect(run.value).toMatchObject({ devices: 1 });
  });

  it('goes on without a device that leaves while everybody loads', async () => {
    const room = await roomOf('a', 'b', 'c');
    const { coordinator } = pageOf(room, 'a');
    const load = watch(coordinator.load(url));
    await ticks();
    room.pending()[0]?.finish();
    await ticks();
    while (room.deliver('a', 'b') || room.deliver('a', 'c')) await ticks();
    room.remove('b');
    room.remove('c');
    await room.settle();
    expect(load.outcome).toBe('answer');
    expect(coordinator.state.placement?.devices).toEqual(['a']);
  });

  it('excludes a device that cannot load, with its reason', async () => {
    const room = await roomOf('a', 'b', 'c');
    const { coordinator } = pageOf(room, 'a');
    const load = watch(coordinator.load(url));
    for (let i = 0; i < 50; i++) {
      await ticks();
      for (const [x, y] of [
        ['a', 'b'],
        ['a', 'c'],
        ['b', 'a'],
        ['c', 'a'],
      ] as const)
        room.deliver(x, y);
      const [first] = pageOf(room, 'b').device.calls;
      if (first?.kind === 'openPlan') first.finish();
      if (first?.kind === 'load') first.finish(new StarlingError('HASH_MISMATCH', 'A weight file is wrong.'));
      for (const id of ['a', 'c']) pageOf(room, id).device.calls[0]?.finish();
    }
    await room.settle();
    expect(load.outcome).toBe('answer');
    expect(coordinator.state.placement?.devices).toEqual(['a', 'c']);
    expect(coordinator.state.excluded.get('b')).toMatchObject({ code: 'HASH_MISMATCH' });
  });

  it('does not hold it against a device that it could not load a plan which was called off', async () => {
    const room = await roomOf('a', 'b');
    const { coordinator } = pageOf(room, 'a');
    void coordinator.load(url);
    await room.settle();
    const dropped = watch(coordinator.load(`${url}?dropped`));
    await ticks();
    pageOf(room, 'a').device.calls[0]?.finish();
    await ticks();
    while (room.deliver('a', 'b'));
    await ticks();
    // The page takes up the plan it had, and only then the other device says that the dropped one is gone.
    const back = watch(coordinator.load(url));
    pageOf(room, 'b').device.calls[0]?.finish(new StarlingError('PLAN_NOT_FOUND', 'It was taken back.'));
    await ticks();
    while (room.deliver('b', 'a'));
    await room.settle();
    expect([dropped.outcome, back.outcome]).toEqual(['RUN_ABORTED', 'answer']);
    expect(coordinator.state.placement?.devices).toEqual(['a', 'b']);
  });

  it('excludes a device whose load makes no progress', async () => {
    const room = await roomOf('a', 'b');
    const { coordinator } = pageOf(room, 'a');
    const load = watch(coordinator.load(url));
    for (let i = 0; i < 20; i++) {
      await ticks();
      for (const [x, y] of [
        ['a', 'b'],
        ['b', 'a'],
      ] as const)
        while (room.deliver(x, y));
      pageOf(room, 'a').device.calls[0]?.finish();
    }
    expect(load.outcome).toBe('pending');
    room.clock.advance(limits.loadStallMs + 1);
    for (let i = 0; i < 5; i++) {
      await ticks();
      pageOf(room, 'a').device.calls[0]?.finish();
    }
    expect(load.outcome).toBe('answer');
    expect(coordinator.state.placement?.devices).toEqual(['a']);
  });

  it('gives no shards to a device that may stop', async () => {
    const room = await roomOf('a', 'b');
    pageOf(room, 'b').coordinator.describe({ mayStop: true });
    void pageOf(room, 'a').coordinator.load(url);
    await room.settle();
    expect(pageOf(room, 'a').coordinator.state.placement?.devices).toEqual(['a']);
    pageOf(room, 'b').coordinator.describe({ mayStop: false });
    await room.settle();
    expect(pageOf(room, 'a').coordinator.state.placement?.devices).toEqual(['a', 'b']);
  });

  it('rejects load with the reason when this device cannot load, and lets it be tried again', async () => {
    const room = await roomOf('a');
    const { coordinator } = pageOf(room, 'a');
    const first = watch(coordinator.load(url));
    await ticks();
    room.pending()[0]?.finish(new StarlingError('PLAN_NOT_FOUND', 'There is no plan.'));
    await room.settle();
    expect(first.outcome).toBe('PLAN_NOT_FOUND');
    const second = watch(coordinator.load(url));
    await room.settle();
    expect(second.outcome).toBe('answer');
  });

  it.each(['a', 'c'])('is not held up by the host %s, which could not load', async (failing) => {
    // Both are host of a room of their own before they meet.
    const room = new SimulatedRoom();
    const load = watch(room.add(failing).load(url));
    await ticks();
    room.pending()[0]?.finish();
    await ticks();
    room.pending()[0]?.finish(new StarlingError('HASH_MISMATCH', 'A weight file is wrong.'));
    await room.settle();
    expect(load.outcome).toBe('HASH_MISMATCH');
    const coordinator = room.add('b');
    void coordinator.load(`${url}?other`);
    await room.settle();
    room.connectAll();
    await room.settle();
    expect(coordinator.state.placement).toMatchObject({ host: 'b', devices: ['b', failing] });
    expect(pageOf(room, failing).device.openUrl).toBe(`${url}?other`);
  });

  it('lets every page with a session run, one host at a time', async () => {
    const room = await roomOf('a', 'b');
    const loads = ['a', 'b'].map((id) => watch(pageOf(room, id).coordinator.load(url)));
    await room.settle();
    expect(loads.map(({ outcome }) => outcome)).toEqual(['answer', 'answer']);
    const runs = ['a', 'b', 'a', 'b'].map((id) => watch(pageOf(room, id).coordinator.run({})));
    await room.settle();
    expect(runs.map(({ value }) => value?.devices)).toEqual([2, 2, 2, 2]);
  });

  it('passes on the role of host when the host leaves', async () => {
    const room = await roomOf('a', 'b', 'c');
    for (const id of ['a', 'b', 'c'])
      void pageOf(room, id)
        .coordinator.load(url)
        .catch(() => undefined);
    await room.settle();
    const host = pageOf(room, 'b').coordinator.state.placement?.host ?? '';
    room.remove(host);
    await room.settle();
    const [next = '', other = ''] = [...room.coordinators.keys()];
    expect(pageOf(room, other).coordinator.state.placement?.devices.toSorted()).toEqual([next, other]);
    const run = watch(pageOf(room, other).coordinator.run({}));
    await room.settle();
    expect(run.value).toMatchObject({ devices: 2 });
  });

  it('changes the plan of the room when a page loads another one', async () => {
    const room = await roomOf('a', 'b');
    void pageOf(room, 'a').coordinator.load(url);
    await room.settle();
    const load = watch(pageOf(room, 'b').coordinator.load('http://localhost/other/plan.json'));
    await room.settle();
    expect(load.value?.name).toBe('http://localhost/other/plan.json');
    const runs = ['a', 'b'].map((id) => watch(pageOf(room, id).coordinator.run({})));
    await room.settle();
    expect(runs.map(({ outcome }) => outcome)).toEqual(['answer', 'answer']);
  });

  it('runs alone at last when runs fail although nobody leaves', async () => {
    const room = await roomOf('a', 'b');
    const { coordinator, device } = pageOf(room, 'a');
    void coordinator.load(url);
    await room.settle();
    const run = watch(coordinator.run({}));
    for (let i = 0; i <= limits.runRetries; i++) {
      await ticks();
      room.clock.advance(limits.runRetryMs);
      device.calls[0]?.finish(new StarlingError('PEER_LOST', 'Nothing came from b.'));
    }
    await room.settle();
    expect(run.value).toMatchObject({ devices: 1 });
  });

  it('rejects an aborted run at once, running or waiting, and goes on with the next', async () => {
    const room = await roomOf('a');
    const { coordinator, device } = pageOf(room, 'a');
    void coordinator.load(url);
    await room.settle();
    const controllers = [new AbortController(), new AbortController()];
    const runs = [
      ...controllers.map(({ signal }) => watch(coordinator.run({}, { signal }))),
      watch(coordinator.run({})),
    ];
    await ticks();
    for (const controller of controllers) controller.abort();
    await ticks();
    expect(runs.map(({ outcome }) => outcome)).toEqual(['RUN_ABORTED', 'RUN_ABORTED', 'pending']);
    expect(device.calls.map(({ what }) => what)).toEqual(['run 2']);
    await room.settle();
    expect(runs[2]?.outcome).toBe('answer');
  });

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
            call?.finish(
              new StarlingError(call.kind === 'run' ? 'PEER_LOST' : 'SESSION_FAILED', 'On purpose.'),
            );
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
