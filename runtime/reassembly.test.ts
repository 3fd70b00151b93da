import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFrame } from '../protocol/decodeFrame.ts';
import { encodeFrame } from '../protocol/encodeFrame.ts';
import type { TensorFrame, TensorPart } from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import { Reassembly } from './reassembly.ts';

function tensor(transfer: number, bytes: number, epoch = 1, run = 1): TensorFrame {
  const data = Uint8Array.from({ length: bytes }, (_, i) => 31 * i + 7 * transfer + run);
  return { kind: 'tensor', epoch, run, transfer, dataType: 'uint8', dims: [bytes], data };
}

function partsOf(frame: TensorFrame, chunkBytes = 64): TensorPart[] {
  return encodeFrame(frame, chunkBytes).map((message) => {
    const decoded = decodeFrame(message);
    if (!decoded.ok || !('dims' in decoded.frame)) throw new Error('Expected a part of a tensor.');
    return decoded.frame;
  });
}

const acceptAll = () => 'accept' as const;

/** A few frames cut into messages, then dropped, repeated and shuffled as fast-check likes. */
const traffic = fc
  .record({
    sizes: fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 5 }),
    chunkBytes: fc.integer({ min: 48, max: 128 }),
  })
  .chain(({ sizes, chunkBytes }) => {
    const frames = sizes.map((bytes, transfer) => tensor(transfer, bytes, 1, transfer % 2));
    const messages = frames.flatMap((frame) => encodeFrame(frame, chunkBytes));
    const noise = fc.record({ at: fc.nat(messages.length - 1), byte: fc.nat(200), value: fc.nat(255) });
    return fc.record({
      frames: fc.constant(frames),
      messages: fc.constant(messages),
      order: fc.array(fc.nat(messages.length - 1), { maxLength: 3 * messages.length }),
      noise: fc.array(noise, { maxLength: 4 }),
    });
  });

describe('Reassembly', () => {
  it('gives out exactly the frames of which every part came, once, whatever is lost, repeated or reordered', () => {
    fc.assert(
      fc.property(traffic, ({ frames, messages, order }) => {
        const reassembly = new Reassembly({ accept: acceptAll });
        const out: TensorFrame[] = [];
        for (const index of order) {
          const decoded = decodeFrame(messages[index]?.slice() ?? new Uint8Array());
          if (!decoded.ok || !('dims' in decoded.frame)) throw new Error('Expected a part.');
          const result = reassembly.add(decoded.frame);
          if (result.state === 'whole') out.push(result.frame);
        }
        const arrived = new Set(order);
        let first = 0;
        const whole = frames.filter((frame) => {
          const count = messages.filter((message) => transferOf(message) === frame.transfer).length;
          const all = Array.from({ length: count }, (_, k) => first + k).every((index) => arrived.has(index));
          first += count;
          return all;
        });
        const byTransfer = (a: TensorFrame, b: TensorFrame) => a.transfer - b.transfer;
        expect(out.sort(byTransfer)).toEqual(whole);
      }),
    );
  });

  it('never gives out a tensor nobody asked for, or holds more than its bound, when headers lie', () => {
    fc.assert(
      fc.property(traffic, ({ frames, messages, order, noise }) => {
        const maxBytes = 1500;
        const wanted = new Map(frames.map((frame) => [`${frame.run}/${frame.transfer}`, frame]));
        const reassembly = new Reassembly({
          maxBytes,
          accept: ({ kind, epoch, run, transfer, dataType, dims }) => {
            const frame = wanted.get(`${run}/${transfer}`);
            if (epoch < 1) return 'stale';
            const asked = kind === 'tensor' && epoch === 1 && frame !== undefined;
            return asked && dataType === 'uint8' && dims.length === 1 && dims[0] === frame.dims[0]
              ? 'accept'
              : 'unasked';
          },
        });
        // Only headers are damaged: the transport has checksums, a peer has intentions.
        const damaged = messages.map((message) => message.slice());
        for (const { at, byte, value } of noise) {
          const message = damaged[at];
          if (message !== undefined && byte < 32) message[byte] = value;
        }
        for (const index of [...order, ...damaged.keys()]) {
          const decoded = decodeFrame(damaged[index] ?? new Uint8Array());
          if (!decoded.ok || !('dims' in decoded.frame)) continue;
          const result = reassembly.add(decoded.frame);
          expect(reassembly.bytes).toBeLessThanOrEqual(maxBytes);
          if (result.state !== 'whole') continue;
          const { frame } = result;
          const expected = wanted.get(`${frame.run}/${frame.transfer}`);
          expect({ ...frame, data: null }).toEqual({ ...expected, data: null });
          expect(frame.data.byteLength).toBe(expected?.data.byteLength);
        }
      }),
    );
  });

  it('passes a whole message on without copying it', () => {
    const [part] = partsOf(tensor(1, 100), 1024);
    if (part === undefined) throw new Error('Expected a part.');
    const result = new Reassembly({ accept: acceptAll }).add(part);
    expect(result.state === 'whole' && result.frame.data.buffer).toBe(part.payload.buffer);
  });

  it('asks before it allocates, and names why it drops', () => {
    const verdicts = { 0: 'stale', 1: 'unasked' } as const;
    const reassembly = new Reassembly({ accept: ({ transfer }) => verdicts[transfer as 0 | 1] ?? 'accept' });
    const reasons = [0, 1].flatMap((t) => partsOf(tensor(t, 200))).map((part) => reassembly.add(part));
    expect(new Set(reasons.map((result) => result.state === 'dropped' && result.reason))).toEqual(
      new Set(['stale', 'unasked']),
    );
    expect(reassembly.bytes).toBe(0);
  });

  it('drops a part that came already, before and after its frame is whole', () => {
    const reassembly = new Reassembly({ accept: acceptAll });
    const parts = partsOf(tensor(5, 100));
    const states = [...parts.slice(0, 1), ...parts, ...parts].map((part) => reassembly.add(part));
    const duplicates = states.filter((result) => result.state === 'dropped' && result.reason === 'duplicate');
    expect(duplicates).toHaveLength(1 + parts.length);
    expect(states.filter((result) => result.state === 'whole')).toHaveLength(1);
  });

  it('drops parts that say something else about their frame', () => {
    const reassembly = new Reassembly({ accept: acceptAll });
    const [first] = partsOf(tensor(5, 100));
    const [, other] = partsOf(tensor(5, 104));
    if (first === undefined || other === undefined) throw new Error('Expected two parts.');
    expect(reassembly.add(first).state).toBe('waiting');
    expect(reassembly.add(other)).toEqual({ state: 'dropped', reason: 'mismatch' });
  });

  it('bounds memory, and gives it back', () => {
    const reassembly = new Reassembly({ accept: acceptAll, maxBytes: 2000 });
    const [a] = partsOf(tensor(1, 1000, 1, 1));
    const [b] = partsOf(tensor(2, 1000, 1, 2));
    if (a === undefined || b === undefined) throw new Error('Expected two parts.');
    expect(reassembly.add(a).state).toBe('waiting');
    expect(reassembly.add(b)).toEqual({ state: 'dropped', reason: 'memory' });
    reassembly.discard(({ run }) => run === 1);
    expect(reassembly.bytes).toBe(0);
    expect(reassembly.add(b).state).toBe('waiting');
  });

  it('forgets the oldest finished frames first', () => {
    const reassembly = new Reassembly({ accept: acceptAll });
    const states = Array.from({ length: limits.finishedFrames + 1 }, (_, run) => tensor(0, 8, 1, run))
      .flatMap((frame) => partsOf(frame))
      .map((part) => reassembly.add(part).state);
    expect(new Set(states)).toEqual(new Set(['whole']));
    const again = (run: number) => partsOf(tensor(0, 8, 1, run)).map((part) => reassembly.add(part).state);
    expect(again(limits.finishedFrames)).toEqual(['dropped']);
    expect(again(0)).toEqual(['whole']);
  });
});

function transferOf(message: Uint8Array): number | undefined {
  const decoded = decodeFrame(message);
  return decoded.ok && 'dims' in decoded.frame ? decoded.frame.transfer : undefined;
}
