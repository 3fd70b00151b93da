import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunTimeline, StageSpan, TransferSpan } from '../../protocol/timeline.ts';
import { ganttRows } from './ganttRows.ts';

const stage = (startMs: number, computedMs: number, endMs: number): StageSpan => {
  return { stage: 0, level: 0, startMs, computedMs, endMs, waitedFor: null };
};
const transfer = (to: number, queuedMs: number | null, arrivedMs: number | null): TransferSpan => {
  return { kind: 'tensor', id: 0, from: 1 - to, to, bytes: 4, queuedMs, handedMs: null, arrivedMs };
};
const run = (
  stages: readonly StageSpan[],
  transfers: readonly TransferSpan[],
  totalMs = 100,
): RunTimeline => {
  return { devices: [{ device: 'a', stages }], transfers, totalMs };
};

describe('ganttRows', () => {
  it('fills the run of a device with computing, packing and waiting', () => {
    const [row] = ganttRows(run([stage(10, 30, 35), stage(50, 80, 90)], []));
    expect(row?.device).toBe('a');
    expect(row?.spans).toEqual([
      { activity: 'compute', startMs: 10, endMs: 30 },
      { activity: 'compute', startMs: 50, endMs: 80 },
      { activity: 'serialise', startMs: 30, endMs: 35 },
      { activity: 'serialise', startMs: 80, endMs: 90 },
      { activity: 'wait', startMs: 0, endMs: 10 },
      { activity: 'wait', startMs: 35, endMs: 50 },
      { activity: 'wait', startMs: 90, endMs: 100 },
    ]);
    expect(row?.sums).toEqual({ compute: 50, serialise: 15, wait: 35, network: 0 });
  });

  it('counts a stage that computes while another packs as computing', () => {
    const [row] = ganttRows(run([stage(0, 20, 60), stage(30, 50, 55)], []));
    expect(row?.sums).toEqual({ compute: 40, serialise: 20, wait: 40, network: 0 });
  });

  it('shows what is on its way to a device, once where transfers overlap, and nothing that was not seen', () => {
    const transfers = [transfer(0, 20, 40), transfer(0, 30, 50), transfer(0, null, 70), transfer(1, 80, 90)];
    const [row] = ganttRows(run([], transfers));
    expect(row?.spans.filter(({ activity }) => activity === 'network')).toEqual([
      { activity: 'network', startMs: 20, endMs: 50 },
    ]);
  });

  it('cuts what lies outside the run, as clocks that differ make it', () => {
    const [row] = ganttRows(run([stage(-5, 20, 120)], [transfer(0, -10, 5)]));
    expect(row?.sums).toEqual({ compute: 20, serialise: 80, wait: 0, network: 5 });
  });

  it('gives a device that did not report a row of waiting', () => {
    expect(ganttRows(run([], []))[0]?.sums).toEqual({ compute: 0, serialise: 0, wait: 100, network: 0 });
  });

  it('never loses or doubles time, whatever the stages', () => {
    const times = fc.array(fc.nat({ max: 120 }), { minLength: 3, maxLength: 3 }).map((list) => {
      const [a = 0, b = 0, c = 0] = list.toSorted((x, y) => x - y);
      return stage(a - 10, b - 10, c - 10);
    });
    fc.assert(
      fc.property(fc.array(times, { maxLength: 8 }), (stages) => {
        const { compute = 0, serialise = 0, wait = 0 } = ganttRows(run(stages, []))[0]?.sums ?? {};
        expect(compute + serialise + wait).toBe(100);
      }),
    );
  });
});
