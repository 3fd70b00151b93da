/** Whether the heap backend gives back what it takes: allocations are counted at the module's exports. */
import { describe, expect, it } from 'vitest';
import { float32Tensor } from '../graph/tensor.ts';
import type { Backend } from '../runtime/backend.ts';
import {
  arithmeticModel,
  externalModel,
  identityModel,
  stringOutputModel,
} from '../tests/support/backendModels.ts';
import { heapBackend } from './ortHeap.ts';
import { createOrtModule, type OrtModule } from './ortModule.ts';

/** The module with a ledger of what is allocated and not yet freed, by what allocates it. */
function counted(module: OrtModule): { module: OrtModule; held(): Record<string, number> } {
  const held = new Map<string, number>();
  const add = (what: string, count: number) => held.set(what, (held.get(what) ?? 0) + count);
  const taking = (what: string, pointer: number): number => {
    if (pointer !== 0) add(what, 1);
    return pointer;
  };
  const ledger: Partial<OrtModule> = {
    _malloc: (bytes) => taking('blocks', module._malloc(bytes)),
    _free: (pointer) => {
      add('blocks', -1);
      module._free(pointer);
    },
    _OrtCreateTensor: (...args) => taking('values', module._OrtCreateTensor(...args)),
    _OrtReleaseTensor: (value) => {
      add('values', -1);
      return module._OrtReleaseTensor(value);
    },
    _OrtRun: (...args) => {
      const status = module._OrtRun(...args);
      if (status === 0) add('values', args[5]);
      return status;
    },
    _OrtGetTensorData: (...args) => {
      const status = module._OrtGetTensorData(...args);
      if (status === 0) add('strings and dims', 1);
      // The characters of a tensor of strings arrive in a block of malloc's.
      if (status === 0 && module.getValue(args[1], 'i32') === 8) add('blocks', 1);
      return status;
    },
    _OrtGetInputOutputMetadata: (...args) => {
      const status = module._OrtGetInputOutputMetadata(...args);
      // a name and a description
      if (status === 0) add('strings and dims', 2);
      return status;
    },
    _OrtFree: (pointer) => {
      add('strings and dims', -1);
      return module._OrtFree(pointer);
    },
    _OrtCreateSessionOptions: (...args) => taking('options', module._OrtCreateSessionOptions(...args)),
    _OrtReleaseSessionOptions: (options) => {
      add('options', -1);
      return module._OrtReleaseSessionOptions(options);
    },
    _OrtCreateSession: (...args) => taking('sessions', module._OrtCreateSession(...args) as number),
    _OrtReleaseSession: (session) => {
      add('sessions', -1);
      return module._OrtReleaseSession(session);
    },
  };
  const proxy = new Proxy(module, {
    get: (target, key) => Reflect.get(key in ledger ? ledger : target, key),
  });
  return { module: proxy, held: () => Object.fromEntries([...held].filter(([, count]) => count !== 0)) };
}

async function runAndRelease(backend: Backend, model: Uint8Array, dims: readonly number[], runs: number) {
  const session = await backend.createSession(model);
  for (let i = 0; i < runs; i++) {
    const tensor = float32Tensor(dims, new Float32Array(dims.reduce((a, b) => a * b, 1)).fill(i));
    const feeds = new Map(session.inputNames.map((name) => [name, backend.upload(tensor)]));
    for (const handle of (await session.run(feeds)).values()) {
      await handle.read();
      handle.release();
    }
    for (const handle of feeds.values()) handle.release();
  }
  await session.release();
}

describe('heap use', () => {
  it('does not grow over 200 runs of 4 MB each, and nothing stays allocated', async () => {
    const { module, held } = counted(await createOrtModule());
    const backend = heapBackend(module);
    const dims = [1024, 256];
    await runAndRelease(backend, arithmeticModel(dims), dims, 3);
    const before = module.HEAPU8.byteLength;
    // 200 runs leave 400 MB behind if only inputs or only outputs are kept.
    await runAndRelease(backend, arithmeticModel(dims), dims, 200);
    module.getValue(0, 'i32');
    expect(module.HEAPU8.byteLength).toBe(before);
    expect(held()).toEqual({});
  });

  it('gives everything back after failures', async () => {
    const { module, held } = counted(await createOrtModule());
    const backend = heapBackend(module);
    await expect(backend.createSession(Uint8Array.of(1, 2, 3))).rejects.toThrow();
    await expect(backend.createSession(externalModel('nowhere.bin', 0, [2]))).rejects.toThrow();
    const wrong = float32Tensor([3], [1, 2, 3]);
    const session = await backend.createSession(identityModel(1, [2]));
    const handle = backend.upload(wrong);
    await expect(session.run(new Map([['x', handle]]))).rejects.toThrow();
    await expect(session.run(new Map())).rejects.toThrow();
    handle.release();
    await session.release();
    // The second of three outputs cannot be exchanged: the other two must go as well.
    const strings = await backend.createSession(stringOutputModel());
    const input = backend.upload(float32Tensor([2], [1, 2]));
    await expect(strings.run(new Map([['x', input]]))).rejects.toThrow(/string elements/);
    input.release();
    await strings.release();
    expect(held()).toEqual({});
  });

  it('counts what is kept', async () => {
    const { module, held } = counted(await createOrtModule());
    const backend = heapBackend(module);
    const session = await backend.createSession(identityModel(1, [2]));
    const input = backend.upload(float32Tensor([2], [1, 2]));
    await session.run(new Map([['x', input]]));
    expect(held()).toMatchObject({ sessions: 1, values: 2 });
  });
});
