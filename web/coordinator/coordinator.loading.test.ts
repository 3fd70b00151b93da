import { describe, expect, it } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import { pageOf, roomOf, url, watch } from './testing/rooms.ts';
import { SimulatedRoom, ticks } from './testing/simulatedRoom.ts';

describe('Coordinator: loading', () => {
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
});
