/** All WASM backends against each other and against the contract of runtime/backend.ts. */
import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { dataTypeCodes } from '../graph/dataTypeCodes.ts';
import { type DataType, dataTypeBytes, float32Tensor, float32View, type Tensor } from '../graph/tensor.ts';
import type { Backend, Session } from '../runtime/backend.ts';
import { arithmeticModel, externalModel, identityModel } from '../tests/support/backendModels.ts';
import { lazyBackend } from './lazyBackend.ts';
import { createHeapBackend } from './ortHeap.ts';
import { createSessionBackend } from './ortSession.ts';

const models = new URL('../../shared/models/', import.meta.url);
type Kind = 'heap' | 'session' | 'lazy';
const backends: Record<Kind, Backend> = {} as Record<Kind, Backend>;

beforeAll(async () => {
  backends.heap = await createHeapBackend();
  backends.session = await createSessionBackend();
  backends.lazy = lazyBackend('wasm', createHeapBackend);
});

async function runOnce(
  backend: Backend,
  session: Session,
  inputs: Readonly<Record<string, Tensor>>,
): Promise<Record<string, Tensor>> {
  const handles = new Map(Object.entries(inputs).map(([name, tensor]) => [name, backend.upload(tensor)]));
  try {
    const outputs = await session.run(handles);
    const read = await Promise.all(
      [...outputs].map(async ([name, handle]) => {
        const tensor = await handle.read();
        handle.release();
        return [name, tensor] as const;
      }),
    );
    return Object.fromEntries(read);
  } finally {
    for (const handle of handles.values()) handle.release();
  }
}

/** Deterministic values in [-1, 1]. */
function wave(dims: readonly number[], seed = 1): Tensor {
  const count = dims.reduce((product, dim) => product * dim, 1);
  return float32Tensor(
    dims,
    Float32Array.from({ length: count }, (_, i) => Math.sin(seed * 12.9898 + i * 0.7)),
  );
}

describe.skipIf(!existsSync(models))('real models (need ../shared/models)', () => {
  it.each([
    ['resnet20-cifar10.onnx', [2, 3, 32, 32]],
    ['esrgan-slim-x4.onnx', [1, 3, 20, 12]],
  ])('%s gives the same bits on both backends', async (file, dims) => {
    const model = readFileSync(new URL(file, models));
    const results: Tensor[] = [];
    for (const backend of [backends.heap, backends.session]) {
      const session = await backend.createSession(model);
      const outputs = await runOnce(backend, session, { [session.inputNames[0] ?? '']: wave(dims) });
      await session.release();
      results.push(...Object.values(outputs));
    }
    const [heap, session] = results;
    expect(results).toHaveLength(2);
    expect(heap?.dims).toEqual(session?.dims);
    expect(Buffer.compare(heap?.data ?? new Uint8Array(), session?.data ?? new Uint8Array())).toBe(0);
    expect(float32View(heap as Tensor).some((value) => value !== 0)).toBe(true);
  });
});

describe.each(['heap', 'session', 'lazy'] as const)('%s backend', (kind) => {
  it('feeds outputs of one session to the next', async () => {
    const backend = backends[kind];
    const session = await backend.createSession(arithmeticModel([2, 3]));
    const [a, b] = [wave([2, 3], 1), wave([2, 3], 2)];
    let handles = new Map([
      ['a', backend.upload(a)],
      ['b', backend.upload(b)],
    ]);
    for (let round = 0; round < 5; round++) {
      const outputs = await session.run(handles);
      for (const handle of handles.values()) handle.release();
      const [sum, product] = [outputs.get('sum'), outputs.get('product')];
      if (sum === undefined || product === undefined) throw new Error('outputs missing');
      handles = new Map([
        ['a', sum],
        ['b', product],
      ]);
    }
    let expected = [float32View(a), float32View(b)] as const;
    for (let round = 0; round < 5; round++) {
      const [x, y] = expected;
      expected = [x.map((value, i) => value + (y[i] ?? 0)), x.map((value, i) => value * (y[i] ?? 0))];
    }
    const [sum, product] = await Promise.all([...handles.values()].map((handle) => handle.read()));
    expect(float32View(sum as Tensor)).toEqual(expected[0]);
    expect(float32View(product as Tensor)).toEqual(expected[1]);
    for (const handle of handles.values()) handle.release();
    await session.release();
  });

  const types = (Object.keys(dataTypeBytes) as DataType[]).filter(
    (t) => kind !== 'session' || t !== 'bfloat16',
  );
  it.each(types)('carries %s unchanged', async (dataType) => {
    const backend = backends[kind];
    const bytes = 6 * dataTypeBytes[dataType as keyof typeof dataTypeBytes];
    // bool holds 0 and 1 only; every other type any bits, but no NaN that a copy might quieten.
    const data = Uint8Array.from({ length: bytes }, (_, i) => (dataType === 'bool' ? i % 2 : (i * 37) % 120));
    // An odd offset: what comes off the wire is aligned to nothing.
    const unaligned = new Uint8Array(bytes + 1).subarray(1);
    unaligned.set(data);
    const session = await backend.createSession(identityModel(dataTypeCodes[dataType], [2, 3]));
    const { y } = await runOnce(backend, session, { x: { dataType, dims: [2, 3], data: unaligned } });
    expect(y).toEqual({ dataType, dims: [2, 3], data });
    await session.release();
  });

  it('shows the elements where they lie, if at all, and reads a copy', async () => {
    const backend = backends[kind];
    const handle = backend.upload(wave([2, 3]));
    const seen = handle.peek();
    if (kind === 'heap') expect(seen).toEqual(wave([2, 3]));
    else expect(seen).toBeUndefined();
    const read = await handle.read();
    seen?.data.fill(0);
    expect(read).toEqual(wave([2, 3]));
    if (kind === 'heap') expect(float32View(await handle.read()).every((value) => value === 0)).toBe(true);
    handle.release();
  });

  it('carries scalars and empty tensors', async () => {
    const backend = backends[kind];
    for (const dims of [[], [0, 3]]) {
      const session = await backend.createSession(identityModel(1, dims));
      const { y } = await runOnce(backend, session, { x: wave(dims) });
      expect(y).toEqual(wave(dims));
      await session.release();
    }
  });

  it('reads external data at an offset, and keeps two models of one location apart', async () => {
    const backend = backends[kind];
    const dims = [3, 4];
    const make = async (seed: number, offset: number) => {
      const weights = wave(dims, seed);
      const file = new Uint8Array(offset + weights.data.byteLength + 5).fill(255);
      file.set(weights.data, offset);
      // A view inside a larger buffer, as a cache hands it out.
      const padded = new Uint8Array(file.byteLength + 7);
      padded.set(file, 7);
      return backend.createSession(externalModel('weights.bin', offset, dims), [
        { path: 'weights.bin', data: padded.subarray(7) },
      ]);
    };
    const sessions = await Promise.all([make(3, 16), make(4, 64)]);
    for (const [i, session] of sessions.entries()) {
      const { y } = await runOnce(backend, session, { x: wave(dims, 9) });
      const w = float32View(wave(dims, 3 + i));
      expect(float32View(y as Tensor)).toEqual(float32View(wave(dims, 9)).map((v, j) => v + (w[j] ?? 0)));
      await session.release();
    }
  });

  it('refuses external data that is not there', async () => {
    const creating = backends[kind].createSession(externalModel('nowhere.bin', 0, [2]));
    await expect(creating).rejects.toMatchObject({
      code: 'SESSION_FAILED',
      message: expect.stringMatching(/nowhere\.bin/),
    });
  });

  it('refuses broken models with the reason of onnxruntime', async () => {
    await expect(backends[kind].createSession(Uint8Array.of(1, 2, 3, 4))).rejects.toMatchObject({
      code: 'SESSION_FAILED',
      message: expect.stringContaining('protobuf parsing failed'),
    });
  });

  it('refuses wrong shapes, missing and unknown inputs, and goes on working', async () => {
    const backend = backends[kind];
    const session = await backend.createSession(arithmeticModel([2, 3]));
    const good = { a: wave([2, 3]), b: wave([2, 3]) };
    await expect(runOnce(backend, session, { ...good, b: wave([3, 2]) })).rejects.toMatchObject({
      code: 'SESSION_FAILED',
      message: expect.stringMatching(/invalid dimensions for input: b/),
    });
    await expect(runOnce(backend, session, { a: good.a })).rejects.toMatchObject({
      code: 'SESSION_FAILED',
      message: expect.stringMatching(/inputs \[a, b\], got \[a\]/),
    });
    await expect(runOnce(backend, session, { ...good, c: good.a })).rejects.toMatchObject({
      code: 'SESSION_FAILED',
    });
    expect(Object.keys(await runOnce(backend, session, good))).toEqual(['sum', 'product']);
    await session.release();
  });

  it('refuses what is not a numeric tensor, and the use of what was released', async () => {
    const backend = backends[kind];
    const strings: Tensor = {
      dataType: 'string',
      dims: [1],
      data: new Uint8Array(),
      strings: [Uint8Array.of(65)],
    };
    expect(() => backend.upload(strings)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    const short: Tensor = { dataType: 'float32', dims: [2, 3], data: new Uint8Array(20) };
    expect(() => backend.upload(short)).toThrow(/Expected 24 bytes .* got 20/);

    const session = await backend.createSession(identityModel(1, [2]));
    const handle = backend.upload(wave([2]));
    handle.release();
    await expect(session.run(new Map([['x', handle]]))).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(() => handle.release()).toThrow(/after its release/);
    await session.release();
    await expect(session.run(new Map())).rejects.toMatchObject({ code: 'SESSION_FAILED' });
  });

  it('queues concurrent runs, each with its own answer', async () => {
    const backend = backends[kind];
    const session = await backend.createSession(arithmeticModel([4]));
    const runs = Array.from({ length: 20 }, (_, i) =>
      runOnce(backend, session, { a: wave([4], i), b: wave([4], i) }),
    );
    for (const [i, { sum }] of (await Promise.all(runs)).entries()) {
      expect(float32View(sum as Tensor)).toEqual(float32View(wave([4], i)).map((v) => 2 * v));
    }
    await session.release();
  });
});
