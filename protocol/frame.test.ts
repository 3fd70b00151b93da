import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFrame } from './decodeFrame.ts';
import { encodeFrame } from './encodeFrame.ts';
import { abortReasons, type Frame, type TensorFrame } from './frame.ts';
import { headerBytes } from './frameLayout.ts';
import { limits } from './limits.ts';
import { tensorBytes, type WireType, wireTypeOf } from './wireType.ts';

const wireTypes: WireType[] = Array.from({ length: 32 }, (_, code) => wireTypeOf(code)).filter(
  (type) => type !== undefined,
);
const u32 = fc.integer({ min: 0, max: 0xffffffff });

const tensorFrame: fc.Arbitrary<TensorFrame> = fc
  .record({
    kind: fc.constantFrom('tensor' as const, 'input' as const, 'output' as const, 'recorded' as const),
    epoch: u32,
    run: u32,
    transfer: u32,
    dataType: fc.constantFrom(...wireTypes),
    dims: fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 4 }),
  })
  .chain((header) => {
    const bytes = tensorBytes(header.dataType, header.dims);
    return fc
      .uint8Array({ minLength: bytes, maxLength: bytes })
      .map((data): TensorFrame => ({ ...header, data }));
  });

function decodeAll(messages: readonly Uint8Array[]) {
  return messages.map((message) => {
    const decoded = decodeFrame(message);
    if (!decoded.ok || !('dims' in decoded.frame)) throw new Error('Expected a part of a tensor.');
    return decoded.frame;
  });
}

describe('encodeFrame and decodeFrame', () => {
  it('give back every tensor frame, whatever the size of a message', () => {
    fc.assert(
      fc.property(tensorFrame, fc.integer({ min: 60, max: 500 }), (frame, chunkBytes) => {
        const messages = encodeFrame(frame, chunkBytes);
        for (const message of messages) expect(message.byteLength).toBeLessThanOrEqual(chunkBytes);
        const parts = decodeAll(messages);
        const data = new Uint8Array(frame.data.byteLength);
        parts.forEach((part, index) => {
          const { part: k, parts: n, totalBytes, offset, payload, ...header } = part;
          expect([k, n, totalBytes]).toEqual([index, messages.length, data.byteLength]);
          expect({ ...header, data: frame.data }).toEqual(frame);
          expect(payload.byteOffset % 8).toBe(0);
          data.set(payload, offset);
        });
        expect(data).toEqual(frame.data);
        // No part is empty, and together they are exactly the tensor.
        const lengths = parts.map((part) => part.payload.byteLength);
        if (lengths.length > 1) expect(Math.min(...lengths)).toBeGreaterThan(0);
        expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(data.byteLength);
      }),
    );
  });

  it('give back every control frame', () => {
    const frames: Frame[] = [
      { kind: 'hello' },
      { kind: 'helloAck' },
      { kind: 'ping', sequence: 0xffffffff },
      { kind: 'pong', sequence: 0 },
      { kind: 'record', epoch: 3, run: 4 },
      ...abortReasons.map((reason): Frame => ({ kind: 'abort', epoch: 3, run: 4, reason })),
    ];
    for (const frame of frames) expect(encodeFrame(frame).map(decodeFrame)).toEqual([{ ok: true, frame }]);
  });

  it('carry tensors of rank 0 and of no elements', () => {
    const base = { kind: 'tensor', epoch: 1, run: 1, transfer: 1 } as const;
    const scalar = encodeFrame({ ...base, dataType: 'int64', dims: [], data: new Uint8Array(8).fill(9) });
    const empty = encodeFrame({ ...base, dataType: 'float32', dims: [4, 0, 5], data: new Uint8Array(0) });
    expect(decodeAll(scalar)[0]?.payload).toEqual(new Uint8Array(8).fill(9));
    expect(decodeAll(empty)[0]).toMatchObject({ dims: [4, 0, 5], parts: 1, totalBytes: 0 });
  });

  it('copies, so that the sender may go on writing into its memory', () => {
    const memory = new Uint8Array(64).fill(1);
    const data = memory.subarray(8, 24);
    const [message] = encodeFrame({ ...example, dataType: 'uint8', dims: [16], data });
    memory.fill(2);
    expect(message?.subarray(headerBytes(1))).toEqual(new Uint8Array(16).fill(1));
    // Its own buffer, so that a channel may transfer it.
    expect(message?.buffer.byteLength).toBe(message?.byteLength);
  });

  it('refuses to encode what contradicts itself', () => {
    const data = new Uint8Array(8);
    const cases: [TensorFrame, string][] = [
      [{ ...example, dims: [3], data }, 'MESSAGE_INVALID'],
      [{ ...example, dims: [2], data, run: -1 }, 'MESSAGE_INVALID'],
      [{ ...example, dims: [2], data, transfer: 2 ** 32 }, 'MESSAGE_INVALID'],
      [{ ...example, dims: [2], data, epoch: 0.5 }, 'MESSAGE_INVALID'],
      [{ ...example, dims: [2, ...new Array<number>(limits.tensorRank).fill(1)], data }, 'MESSAGE_TOO_LARGE'],
    ];
    for (const [frame, code] of cases)
      expect(() => encodeFrame(frame)).toThrow(expect.objectContaining({ code }));
    expect(() => encodeFrame({ ...example, dims: [2], data }, 32)).toThrow(/no room/);
  });
});

const example = { kind: 'tensor', epoch: 1, run: 2, transfer: 3, dataType: 'float32', dims: [2, 3] } as const;

function exampleMessage(change: (view: DataView) => void = () => {}): Uint8Array {
  const [message] = encodeFrame({ ...example, data: new Uint8Array(24) });
  if (message === undefined) throw new Error('Expected one message.');
  change(new DataView(message.buffer));
  return message;
}

describe('decodeFrame', () => {
  it('says what is wrong with a message', () => {
    const cases: [string, Uint8Array][] = [
      ['short', new Uint8Array(0)],
      ['short', exampleMessage().slice(0, 31)],
      ['short', exampleMessage((v) => v.setUint8(25, 14))],
      ['magic', exampleMessage((v) => v.setUint8(0, 0))],
      ['version', exampleMessage((v) => v.setUint8(2, 2))],
      ['kind', exampleMessage((v) => v.setUint8(3, 200))],
      [
        'kind',
        new Uint8Array(encodeFrame({ kind: 'abort', epoch: 1, run: 1, reason: 'RUN_FAILED' })[0] ?? []).fill(
          9,
          12,
          16,
        ),
      ],
      ['dataType', exampleMessage((v) => v.setUint8(24, 8))],
      ['rank', exampleMessage((v) => v.setUint8(25, limits.tensorRank + 1))],
      ['padding', exampleMessage((v) => v.setUint8(26, 1))],
      ['padding', exampleMessage((v) => v.setUint8(36, 1))],
      ['size', exampleMessage((v) => v.setUint32(28, 0xffffffff, true))],
      ['part', exampleMessage((v) => v.setUint32(16, 1, true))],
      ['part', exampleMessage((v) => v.setUint32(20, 0, true))],
      ['part', exampleMessage((v) => v.setUint32(20, 4, true))],
      ['length', exampleMessage((v) => v.setUint32(20, 2, true))],
      ['length', exampleMessage().slice(0, -1)],
      ['length', new Uint8Array([...exampleMessage(), 0])],
      ['length', exampleMessage((v) => v.setUint32(28, 3, true))],
      ['length', new Uint8Array([...(encodeFrame({ kind: 'hello' })[0] ?? []), 0])],
    ];
    for (const [reason, bytes] of cases) expect(decodeFrame(bytes)).toEqual({ ok: false, reason });
  });

  it('survives arbitrary bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 200 });
    fc.assert(
      fc.property(bytes, (message) => {
        expect(() => decodeFrame(message)).not.toThrow();
      }),
    );
  });

  it('takes no changed message for more than it holds', () => {
    const edits = fc.array(fc.tuple(fc.nat(70), fc.nat(255)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(tensorFrame, edits, fc.integer({ min: 60, max: 120 }), (frame, changes, chunkBytes) => {
        for (const message of encodeFrame(frame, chunkBytes)) {
          for (const [at, value] of changes) if (at < message.byteLength) message[at] = value;
          const decoded = decodeFrame(message);
          if (!decoded.ok || !('dims' in decoded.frame)) continue;
          const { dataType, dims, part, parts, totalBytes, offset, payload } = decoded.frame;
          expect(totalBytes).toBe(tensorBytes(dataType, dims));
          expect(totalBytes).toBeLessThanOrEqual(limits.tensorBytes);
          expect(part).toBeLessThan(parts);
          expect(offset + payload.byteLength).toBeLessThanOrEqual(totalBytes);
          expect(payload.byteLength).toBe(message.byteLength - headerBytes(dims.length));
        }
      }),
    );
  });
});
