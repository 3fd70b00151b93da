/** Runs over several devices in one process: outputs of their own, and a timeline that holds every stage and transfer of the lowered programs. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel } from '../../compiler/compile.ts';
import { type LocalRoom, openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { float32Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import type { Placement } from '../../runtime/lower/program.ts';
import { openPlan, type Plan } from '../../runtime/plan.ts';
import { fileWeights } from '../../runtime/weights/blob.ts';
import { side, testPicture, tinyUpscaler } from '../e2e/support/tinyUpscaler.ts';

let backend: Backend;
let plan: Plan;
let files: readonly Uint8Array[];

beforeAll(async () => {
  backend = await createHeapBackend();
  const options = { name: 'tiny', numShards: 3, axis: 'channels', backend } as const;
  const compiled = await compileModel(tinyUpscaler(), options);
  const read = (path: string) => compiled.files.get(path) ?? new Uint8Array();
  plan = await openPlan(async (path) => read(path), null);
  files = plan.file.weights.map(({ path }) => read(path));
});

function openRoom(placement: Placement): Promise<LocalRoom> {
  const { model, division } = plan;
  const planOf = () => ({ model, division, openBatch: false, weights: fileWeights(plan, files) });
  return openLocalRoom({ planOf, placement, backend });
}

const inputs = { picture: float32Tensor([1, 3, side, side], testPicture(1)) };

it('gives outputs of their own: a later run does not change them', async () => {
  const room = await openRoom([[0, 1], [2]]);
  const { outputs: before } = await room.run(inputs);
  const kept = Object.values(before).map(({ data }) => data.slice());
  await room.run({ picture: float32Tensor([1, 3, side, side], testPicture(2)) });
  expect(Object.values(before).map(({ data }) => data)).toEqual(kept);
  await room.close();
});

describe('timeline', () => {
  it('is not made where nobody asked for it', async () => {
    const room = await openRoom([[0, 1], [2]]);
    expect((await room.run(inputs)).timeline).toBeUndefined();
    await room.close();
  });

  it.each([
    { placement: [[0, 1, 2]] },
    { placement: [[0, 1], [2]] },
    { placement: [[2], [0], [1]] },
    // A device may be in the placement without a shard.
    { placement: [[0, 1], [], [2]] },
  ])('holds every stage and transfer of $placement', async ({ placement }) => {
    const room = await openRoom(placement);
    // Warm: the first run of a session takes far longer than its frames.
    await room.run(inputs);
    const { timeline, stats } = await room.run(inputs, { timeline: true });
    if (timeline === undefined) throw new Error('There is no timeline.');
    const { programs } = room.room;
    expect(timeline.totalMs).toBe(stats.totalMs);
    expect(timeline.devices.map(({ device }) => device)).toEqual(programs.map((_, i) => `device${i}`));
    for (const [index, { stages }] of timeline.devices.entries()) {
      const program = programs[index];
      expect(stages.map(({ stage }) => stage).sort((a, b) => a - b)).toEqual([
        ...(program?.stages.keys() ?? []),
      ]);
      const reads = new Set(program?.receives.map(({ id }) => id));
      for (const [i, span] of stages.entries()) {
        expect(span.level).toBe(program?.stages[span.stage]?.level);
        expect(span.startMs).toBeLessThanOrEqual(span.computedMs);
        expect(span.computedMs).toBeLessThanOrEqual(span.endMs);
        // One engine: it never does two things at once.
        expect(span.endMs).toBeLessThanOrEqual(stages[i + 1]?.startMs ?? Number.POSITIVE_INFINITY);
        if (span.waitedFor !== null) expect(reads.has(span.waitedFor)).toBe(true);
      }
    }
    const host = timeline.devices[0]?.stages.reduce((sum, span) => sum + span.computedMs - span.startMs, 0);
    expect(host).toBeCloseTo(stats.computeMs, 6);

    const between = timeline.transfers.filter(({ kind }) => kind === 'tensor');
    const expected = programs.flatMap(({ sends }) => sends);
    expect(between.map(({ id }) => id).sort((a, b) => a - b)).toEqual(
      expected.map(({ id }) => id).sort((a, b) => a - b),
    );
    expect(between.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(room.room.exchangedBytes);
    for (const { id, kind, from, to, queuedMs, handedMs, arrivedMs } of timeline.transfers) {
      if (from === to) continue;
      if (kind === 'tensor') expect(expected.find((one) => one.id === id)).toMatchObject({ from, to });
      if (queuedMs === null || handedMs === null || arrivedMs === null)
        throw new Error(`A time is missing of ${kind} ${id}.`);
      expect(queuedMs).toBeLessThanOrEqual(handedMs);
      expect(queuedMs).toBeLessThanOrEqual(arrivedMs + 1e-6);
    }
    await room.close();
  });
});
