/** What is left of a run that ends early: nothing, on the device that serves and on the one that asked. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel } from '../../compiler/compile.ts';
import { float32Tensor } from '../../graph/tensor.ts';
import { encodeFrame } from '../../protocol/encodeFrame.ts';
import type { RunFrame, TensorFrame } from '../../protocol/frame.ts';
import type { Backend } from '../../runtime/backend.ts';
import { systemClock } from '../../runtime/clock.ts';
import { Device } from '../../runtime/device.ts';
import { createLink } from '../../runtime/link.ts';
import type { RoomProgram } from '../../runtime/lower/program.ts';
import { createMemoryNetwork } from '../../runtime/memoryChannel.ts';
import { openPlan, type Plan } from '../../runtime/plan.ts';
import { fileWeights } from '../../runtime/weights/blob.ts';
import { side, testPicture, tinyUpscaler } from '../e2e/support/tinyUpscaler.ts';

let backend: Backend;
let plan: Plan;
let files: readonly Uint8Array[];

beforeAll(async () => {
  backend = await createHeapBackend();
  const compiled = await compileModel(tinyUpscaler(), {
    name: 'tiny',
    numShards: 2,
    axis: 'channels',
    backend,
  });
  const read = (path: string) => compiled.files.get(path) ?? new Uint8Array();
  plan = await openPlan(async (path) => read(path), null);
  files = plan.file.weights.map(({ path }) => read(path));
});

interface HalfRoom {
  readonly device: Device;
  readonly room: RoomProgram;
  /** Sends the first part of a frame only. */
  begin(frame: TensorFrame): void;
  send(frame: RunFrame): Promise<void>;
  close(): Promise<void>;
}

/** Device `b` holds shard 1; `a`, with shard 0, is this test at the other end of its channel. */
async function openHalfRoom(host: 'a' | 'b'): Promise<HalfRoom> {
  const device = new Device({ id: 'b', backend, clock: systemClock });
  const [here, there] = createMemoryNetwork().pair();
  const link = createLink({
    channel: here,
    clock: systemClock,
    accept: () => 'accept',
    onFrame: () => {},
    onClose: () => {},
  });
  await Promise.all([link.opened, device.connect('a', there)]);
  const { model, division } = plan;
  const room = await device.load(
    { model, division, openBatch: false, weights: fileWeights(plan, files), warmUp: false },
    { epoch: 1, devices: ['a', 'b'], shards: [[0], [1]], host },
  );
  return {
    device,
    room,
    begin(frame) {
      const [first, ...rest] = encodeFrame(frame, 4096);
      expect(rest.length).toBeGreaterThan(0);
      if (first !== undefined) here.send(first);
    },
    send: (frame) => link.send(frame),
    close: () => device.close(),
  };
}

const held = ({ device }: HalfRoom) => device.linkStats('a')?.reassemblyBytes ?? Number.NaN;

/** A frame that `b` waits for from `a` in any run. */
function transferTo({ room }: HalfRoom, run: number): TensorFrame {
  const transfer = room.programs[1]?.receives[0];
  if (transfer === undefined) throw new Error('Device b receives nothing.');
  const { id, dims } = transfer;
  const data = new Uint8Array(4 * dims.reduce((product, dim) => product * dim, 1));
  return { kind: 'tensor', epoch: 1, run, transfer: id, dataType: 'float32', dims, data };
}

describe('a run that ends early', () => {
  it('leaves no parts of frames on a device that serves, and touches no other run', async () => {
    const room = await openHalfRoom('a');
    room.begin(transferTo(room, 1));
    await expect.poll(() => held(room)).toBeGreaterThan(0);
    const one = held(room);
    room.begin(transferTo(room, 2));
    await expect.poll(() => held(room)).toBe(2 * one);
    await room.send({ kind: 'abort', epoch: 1, run: 1, reason: 'RUN_ABORTED' });
    await expect.poll(() => held(room)).toBe(one);
    // What was still under way is known as stale and takes no memory again.
    room.begin(transferTo(room, 1));
    await expect.poll(() => room.device.linkStats('a')?.dropped).toMatchObject({ stale: 1 });
    expect(held(room)).toBe(one);
    await room.close();
  });

  it('leaves no parts of frames on its host', async () => {
    const room = await openHalfRoom('b');
    const inputs = { picture: float32Tensor([1, 3, side, side], testPicture(1)) };
    const run = room.device.run(7, inputs);
    const result = room.room.programs[0]?.results[0];
    if (result === undefined) throw new Error('Device a gives no result.');
    const { id, dims } = result;
    const data = new Uint8Array(4 * dims.reduce((product, dim) => product * dim, 1));
    room.begin({ kind: 'output', epoch: 1, run: 7, transfer: id, dataType: 'float32', dims, data });
    room.begin(transferTo(room, 7));
    await expect.poll(() => held(room)).toBeGreaterThan(data.byteLength);
    room.device.abort(7);
    await expect(run).rejects.toMatchObject({ code: 'RUN_ABORTED' });
    expect(held(room)).toBe(0);
    await room.close();
  });

  it('leaves no parts of frames when its epoch is retired', async () => {
    const room = await openHalfRoom('a');
    room.begin(transferTo(room, 1));
    await expect.poll(() => held(room)).toBeGreaterThan(0);
    await room.device.retire(2);
    expect(held(room)).toBe(0);
    await room.close();
  });
});
