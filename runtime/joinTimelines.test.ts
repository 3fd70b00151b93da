/** Clocks that are far apart come onto the host's; a device that says nothing, or nonsense, costs only its own part. */
import { describe, expect, it } from 'vitest';
import { joinTimelines } from './joinTimelines.ts';
import type { Program, RoomProgram, Transfer } from './lower/program.ts';
import { ManualClock } from './manualClock.ts';
import { RunRecords } from './runRecords.ts';
import { type DeviceRecord, type RecordedTransfer, TimelineRecorder } from './timelineRecorder.ts';

function transfer(id: number, from: number, to: number): Transfer {
  const name = `t${id}`;
  return {
    id,
    value: name,
    from,
    to,
    sourceName: name,
    targetName: name,
    dataType: 'float32',
    dims: [1],
    axis: 1,
    ranges: [],
  };
}

function program(device: number, sends: readonly Transfer[]): Program {
  return {
    device,
    shards: [device],
    stages: [
      { level: 0, sends: true, nodes: [], inputs: [], outputs: [] },
      { level: 4, sends: true, nodes: [], inputs: [], outputs: [] },
    ],
    feeds: [],
    results: [],
    sends,
    receives: [],
    weights: new Map(),
    constants: new Map(),
    types: new Map(),
    macs: 0,
    nodeMacs: new Map(),
  };
}

const room: RoomProgram = {
  programs: [program(0, [transfer(0, 0, 1)]), program(1, [transfer(1, 1, 0)])],
  rounds: 1,
  exchangedBytes: 8,
};

const sent = (id: number, queuedMs: number): RecordedTransfer => {
  return { kind: 'tensor', id, bytes: 4, queuedMs, handedMs: queuedMs + 1, arrivedMs: null };
};
const received = (id: number, arrivedMs: number): RecordedTransfer => {
  return { kind: 'tensor', id, bytes: 4, queuedMs: null, handedMs: null, arrivedMs };
};

/** The other device's clock is 5000 ms ahead; frames take 3 ms. */
const own: DeviceRecord = { stages: [], transfers: [sent(0, 110), received(1, 123)] };
const other: DeviceRecord = {
  stages: [{ stage: 1, startMs: 5113, computedMs: 5118, endMs: 5120, waitedFor: 0 }],
  transfers: [received(0, 5113), sent(1, 5120)],
};
const common = { room, devices: ['a', 'b'], host: 0, startedMs: 100, totalMs: 30 };

describe('joinTimelines', () => {
  it('puts another clock onto the host’s', () => {
    const { devices, transfers } = joinTimelines({ ...common, records: [own, other] });
    expect(devices[1]).toEqual({
      device: 'b',
      stages: [{ stage: 1, level: 4, startMs: 13, computedMs: 18, endMs: 20, waitedFor: 0 }],
    });
    expect(transfers).toEqual([
      { kind: 'tensor', id: 0, from: 0, to: 1, bytes: 4, queuedMs: 10, handedMs: 11, arrivedMs: 13 },
      { kind: 'tensor', id: 1, from: 1, to: 0, bytes: 4, queuedMs: 20, handedMs: 21, arrivedMs: 23 },
    ]);
  });

  it('leaves out what a device says of transfers that are not its own, and what it did not say', () => {
    const lying: DeviceRecord = { stages: [], transfers: [sent(0, 1), sent(77, 1)] };
    const { transfers } = joinTimelines({ ...common, records: [own, lying] });
    expect(transfers.map(({ id, arrivedMs }) => [id, arrivedMs])).toEqual([
      [0, null],
      [1, 23],
    ]);
    expect(joinTimelines({ ...common, records: [own, null] }).devices[1]?.stages).toEqual([]);
  });
});

describe('RunRecords', () => {
  it('waits for every device, but not for ever', async () => {
    const clock = new ManualClock();
    const records = new RunRecords(clock);
    const finished: number[] = [];
    for (const run of [1, 2]) {
      records.start(run, 2, new TimelineRecorder(clock));
      records.put(run, 0, own);
      void records.join(run, 0, 1, { room, devices: ['a', 'b'], host: 'a' }).then(() => finished.push(run));
    }
    records.put(2, 1, other);
    await clock.advance(1);
    expect(finished).toEqual([2]);
    await clock.advance(2_000);
    expect(finished).toEqual([2, 1]);
    expect(await records.join(3, 0, 1, { room, devices: ['a'], host: 'a' })).toBeUndefined();
  });

  it('takes one table of a sensible size from each device', () => {
    const records = new RunRecords(new ManualClock());
    records.start(1, 2, new TimelineRecorder(new ManualClock()));
    const header = { kind: 'recorded', epoch: 1, run: 1, transfer: 0, dataType: 'float64' } as const;
    expect(records.expects({ ...header, dims: [9, 6] }, 1)).toBe(true);
    expect(records.expects({ ...header, dims: [9, 5] }, 1)).toBe(false);
    expect(records.expects({ ...header, dims: [1_000_000, 6] }, 1)).toBe(false);
    expect(records.expects({ ...header, run: 2, dims: [9, 6] }, 1)).toBe(false);
    expect(records.expects({ ...header, dims: [9, 6] }, -1)).toBe(false);
    records.put(1, 1, other);
    expect(records.expects({ ...header, dims: [9, 6] }, 1)).toBe(false);
  });
});
