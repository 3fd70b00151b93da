/** Placements by measurement: what a host asks its Worker, when it decides anew, and what runs make of it. */
import { describe, expect, it } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import type { ForecastQuestion, PlanForecast } from '../../workers/api.ts';
import { planOf } from './testing/simulatedDevice.ts';
import { SimulatedRoom } from './testing/simulatedRoom.ts';

const url = 'http://localhost/channels/plan.json';
const rows = 'http://localhost/rows/plan.json';

/** Milliseconds of a plan on so many devices. */
type Times = (url: string, devices: readonly string[], question: ForecastQuestion) => number;

/** Predicts the host alone and everybody together, for each plan. */
function predicting(times: Times) {
  return (question: ForecastQuestion): PlanForecast[] => {
    const ids = question.devices.map(({ id }) => id);
    const groups = ids.length === 1 ? [ids] : [ids.slice(0, 1), ids];
    return question.urls.flatMap((plan) =>
      groups.map((devices) => {
        const totalMs = times(plan, devices, question);
        const shards = devices.length === 1 ? [[0, 1, 2, 3]] : devices.map((_, i) => (i < 4 ? [i] : []));
        const last = shards.at(-1);
        if (devices.length > 1) for (let i = devices.length; i < 4; i++) last?.push(i);
        const { sha256 } = planOf(plan);
        return {
          url: plan, sha256, axis: 'channels', devices, shards, totalMs,
          computeMs: devices.map(() => 1), bytes: 0, rounds: 1, heapBytes: devices.map(() => 0),
        }; // biome-ignore format: one record
      }),
    );
  };
}

async function roomOf(ids: readonly string[], times: Times) {
  const room = new SimulatedRoom('best');
  for (const id of ids) room.add(id);
  for (const device of room.devices.values()) device.predict = predicting(times);
  room.connectAll();
  await room.settle();
  return room;
}

function host(room: SimulatedRoom, id = 'a') {
  const coordinator = room.coordinators.get(id);
  const device = room.devices.get(id);
  if (coordinator === undefined || device === undefined) throw new Error(`no page ${id}`);
  const devices = () => coordinator.state.placement?.devices;
  return { coordinator, device, devices };
}

describe('a host that places by measurement', () => {
  it('shares with the others where that is predicted to be faster', async () => {
    const room = await roomOf(['a', 'b'], (_, devices) => 100 / devices.length);
    const { coordinator, devices } = host(room);
    void coordinator.load(url);
    await room.settle();
    expect(devices()).toEqual(['a', 'b']);
    expect(coordinator.state.choice).toMatchObject({ aloneMs: 100, expectedMs: 50 });
    const outcome = coordinator.run({});
    await room.settle();
    expect(await outcome).toMatchObject({ devices: 2 });
  });

  it('stays alone where it is not, and loads nothing on the others', async () => {
    const room = await roomOf(['a', 'b'], (_, devices) => 100 * devices.length);
    const { coordinator, devices } = host(room);
    void coordinator.load(url);
    await room.settle();
    expect(devices()).toEqual(['a']);
    expect(room.devices.get('b')?.loaded).toBeNull();
    expect(coordinator.state.choice?.reason).toContain('One device alone is faster');
  });

  it('decides anew when a device joins, and when one leaves', async () => {
    const room = await roomOf(['a'], (_, devices) => 100 / devices.length);
    const { coordinator, devices } = host(room);
    void coordinator.load(url);
    await room.settle();
    expect(devices()).toEqual(['a']);
    room.add('b');
    room.connectAll();
    await room.settle();
    expect(devices()).toEqual(['a', 'b']);
    room.remove('b');
    await room.settle();
    expect(devices()).toEqual(['a']);
  });

  it('takes one device when runs of the room take longer than one is predicted to, and keeps what is better', async () => {
    const room = await roomOf(['a', 'b'], (_, devices) => 100 / devices.length);
    const { coordinator, device, devices } = host(room);
    void coordinator.load(url);
    await room.settle();
    const run = async (ms: number, times: number) => {
      device.runMs = ms;
      for (let i = 0; i < times; i++) {
        void coordinator.run({});
        await room.settle();
      }
    };
    await run(180, 2);
    expect(devices()).toEqual(['a', 'b']);
    await run(180, 1);
    expect(devices()).toEqual(['a']);
    // One device takes what was predicted: it stays.
    await run(100, 6);
    expect(devices()).toEqual(['a']);
    // It would not, had one device been slower than the room.
    await run(300, 6);
    expect(devices()).toEqual(['a', 'b']);
  });

  it('thinks again when a device turns out slower than it was taken for', async () => {
    const room = await roomOf(['a', 'b'], (_, devices, question) =>
      devices.length === 1 ? 100 : 60 / (question.devices[1]?.speed ?? 1),
    );
    const slow = room.devices.get('b');
    if (slow !== undefined) slow.speed = 0.25;
    const { coordinator, device, devices } = host(room);
    void coordinator.load(url);
    await room.settle();
    expect(device.questions.map(({ devices: [, other] }) => other?.speed)).toEqual([1, 0.25]);
    expect(devices()).toEqual(['a']);
  });

  it('takes the best of several plans for the devices that are there', async () => {
    const room = await roomOf(['a'], (plan, devices) => {
      if (devices.length === 1) return plan === url ? 90 : 110;
      return plan === rows ? 50 : 80;
    });
    const { coordinator, device, devices } = host(room);
    const load = coordinator.load([url, rows]);
    await room.settle();
    expect((await load).sha256).toBe(planOf(url).sha256);
    room.add('b');
    room.connectAll();
    await room.settle();
    expect(devices()).toEqual(['a', 'b']);
    expect(device.openUrl).toBe(rows);
    expect(room.devices.get('b')?.openUrl).toBe(rows);
    const outcome = coordinator.run({});
    await room.settle();
    expect(await outcome).toMatchObject({ devices: 2 });
    room.remove('b');
    await room.settle();
    expect(device.openUrl).toBe(url);
  });

  it('opens the second of several plans where that is better from the beginning', async () => {
    const room = await roomOf(['a', 'b'], (plan, devices) => (plan === rows ? 50 : 80) / devices.length);
    const { coordinator, device, devices } = host(room);
    const load = coordinator.load([url, rows]);
    await room.settle();
    expect((await load).sha256).toBe(planOf(rows).sha256);
    expect(device.openUrl).toBe(rows);
    expect(devices()).toEqual(['a', 'b']);
    // A page that would take either has what the room has.
    const other = room.coordinators.get('b')?.load([url, rows]);
    await room.settle();
    expect((await other)?.sha256).toBe(planOf(rows).sha256);
    expect(coordinator.state.placement?.host).toBe('a');
  });

  it('rejects the load with what the forecast says, and lets it be tried again', async () => {
    const room = await roomOf(['a'], () => 100);
    const { coordinator, device } = host(room);
    device.predict = () => {
      throw new StarlingError('PLAN_UNREADABLE', 'Plans that are loaded together are of one model.');
    };
    const failing = coordinator.load([url, rows]);
    await room.settle();
    await expect(failing).rejects.toMatchObject({ code: 'PLAN_UNREADABLE' });
    device.predict = predicting(() => 100);
    const load = coordinator.load([url, rows]);
    await room.settle();
    expect((await load).numShards).toBe(4);
  });

  it('rejects the load where no placement fits the devices, and succeeds once another is there', async () => {
    const room = await roomOf(['a'], () => 100);
    const { coordinator, device } = host(room);
    coordinator.describe({ memoryLimitBytes: 60 });
    device.predict = (question) =>
      predicting(() => 100)(question).map((one) => ({
        ...one,
        heapBytes: one.devices.map(() => 100 / one.devices.length),
      }));
    const failing = coordinator.load(url);
    await room.settle();
    await expect(failing).rejects.toMatchObject({ code: 'MEMORY_LIMIT' });
    room.add('b');
    room.connectAll();
    await room.settle();
    const load = coordinator.load(url);
    await room.settle();
    expect((await load).numShards).toBe(4);
    expect(coordinator.state.placement?.devices).toEqual(['a', 'b']);
  });
});
