import { describe, expect, it } from 'vitest';
import type { TensorFrame } from '../protocol/frame.ts';
import { systemClock } from './clock.ts';
import { createLink } from './link.ts';
import { createMemoryNetwork } from './memoryChannel.ts';

describe('link', () => {
  it('carries tensors both ways, in order', async () => {
    const [left, right] = createMemoryNetwork().pair();
    const got: TensorFrame[] = [];
    const base = { clock: systemClock, accept: () => 'accept' as const, onClose: () => {} };
    const a = createLink({ ...base, channel: left, onFrame: () => {} });
    const b = createLink({ ...base, channel: right, onFrame: (f) => 'data' in f && got.push(f) });
    const data = Uint8Array.from({ length: 300_000 }, (_, i) => i * 7);
    await a.send({
      kind: 'tensor',
      epoch: 1,
      run: 2,
      transfer: 3,
      dataType: 'uint8',
      dims: [3, 100_000],
      data,
    });
    await a.send({
      kind: 'tensor',
      epoch: 1,
      run: 2,
      transfer: 4,
      dataType: 'int64',
      dims: [1],
      data: data.slice(0, 8),
    });
    await new Promise((r) => setTimeout(r, 20));
    expect(got.map((f) => [f.transfer, f.dims])).toEqual([
      [3, [3, 100_000]],
      [4, [1]],
    ]);
    expect(got[0]?.data).toEqual(data);
    a.close();
    await new Promise((r) => setTimeout(r, 5));
    await expect(b.send({ kind: 'abort', epoch: 1, run: 1, reason: 'RUN_ABORTED' })).rejects.toMatchObject({
      code: 'PEER_LOST',
    });
  });
});
