/** What a device notes survives its way to the host, and a table that is none does no harm. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from './manualClock.ts';
import { packRecord, recordColumns, TimelineRecorder, unpackRecord } from './timelineRecorder.ts';

describe('timeline recorder', () => {
  it('notes when a transfer was queued, handed over and came', async () => {
    const clock = new ManualClock();
    const recorder = new TimelineRecorder(clock);
    let hand = () => {};
    const handed = new Promise<void>((resolve) => {
      hand = resolve;
    });
    clock.jump(5);
    recorder.queued('tensor', 3, 64, handed);
    recorder.queued('output', 0, 8, Promise.reject(new Error('gone')));
    await clock.advance(2);
    hand();
    await clock.advance(1);
    recorder.arrived('tensor', 1, 32);
    expect(recorder.record().transfers).toEqual([
      { kind: 'tensor', id: 3, bytes: 64, queuedMs: 5, handedMs: 7, arrivedMs: null },
      { kind: 'output', id: 0, bytes: 8, queuedMs: 5, handedMs: null, arrivedMs: null },
      { kind: 'tensor', id: 1, bytes: 32, queuedMs: null, handedMs: null, arrivedMs: 8 },
    ]);
  });

  it('tells which of several tensors came last', () => {
    const clock = new ManualClock();
    const recorder = new TimelineRecorder(clock);
    for (const id of [4, 2, 9]) {
      recorder.arrived('tensor', id, 1);
      clock.jump(1);
    }
    expect(recorder.lastArrived([4, 2])).toBe(2);
    expect(recorder.lastArrived([7])).toBeNull();
  });

  it('packs and unpacks without loss', () => {
    const time = fc.double({ noNaN: true, noDefaultInfinity: true });
    const orNull = fc.option(time);
    const count = fc.nat();
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            stage: count,
            startMs: time,
            computedMs: time,
            endMs: time,
            waitedFor: fc.option(count),
          }),
        ),
        fc.array(
          fc.record({
            kind: fc.constantFrom('input' as const, 'tensor' as const, 'output' as const),
            id: count,
            bytes: count,
            queuedMs: orNull,
            handedMs: orNull,
            arrivedMs: orNull,
          }),
        ),
        (stages, transfers) => {
          const record = { stages, transfers };
          expect(unpackRecord(packRecord(record))).toEqual(record);
        },
      ),
    );
  });

  it('leaves rows out that are none', () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { maxLength: 60 }), (cells) => {
        const data = new Uint8Array(Float64Array.from(cells).buffer);
        const dims = [Math.floor(cells.length / recordColumns), recordColumns];
        const { stages, transfers } = unpackRecord({ dataType: 'float64', dims, data });
        for (const { stage, startMs } of stages)
          expect(Number.isSafeInteger(stage) && Number.isFinite(startMs)).toBe(true);
        for (const { id, bytes } of transfers)
          expect([id, bytes].every((n) => Number.isSafeInteger(n) && n >= 0)).toBe(true);
      }),
    );
  });
});
