import { describe, expect, it } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import { pageOf, roomOf, url, watch } from './testing/rooms.ts';
import { ticks } from './testing/simulatedRoom.ts';

describe('Coordinator: runs', () => {
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
});
