import { describe, expect, it } from 'vitest';
import {
  type Adapter,
  chooseBackend,
  chooseThreads,
  currentSurroundings,
  type Surroundings,
} from './chooseBackend.ts';
import { probeBackend } from './probeBackend.ts';

const isolated: Surroundings = {
  isolated: true,
  sharedMemory: true,
  secureContext: true,
  requestAdapter: null,
};

describe('chooseThreads', () => {
  it.each([
    [4, isolated, 4, '4 threads'],
    [1, isolated, 1, 'one thread'],
    [4, { ...isolated, isolated: false }, 1, 'not cross-origin isolated'],
    [4, { ...isolated, sharedMemory: false }, 1, 'no SharedArrayBuffer'],
  ] as const)('%i threads in %o: %i', (wished, surroundings, threads, reason) => {
    expect(chooseThreads(wished, surroundings)).toEqual({ threads, reason: expect.stringContaining(reason) });
  });

  it('refuses none', () => {
    expect(() => chooseThreads(0, isolated)).toThrow(/1 or more threads, got 0/);
  });
});

describe('chooseBackend', () => {
  it.each([
    ['auto', null, 'until WebGPU is measured faster'],
    ['wasm', null, 'asked for'],
    ['webgpu', null, 'no WebGPU'],
    ['webgpu', async (): Promise<null> => null, 'no adapter'],
    ['webgpu', async (): Promise<null> => Promise.reject(new Error('lost')), 'lost'],
    // An adapter alone does not help where the GPU build cannot run: Node has no navigator.gpu.
    ['webgpu', async (): Promise<Adapter> => ({ features: new Set() }), 'WebGPU failed'],
  ] as const)('%s with adapter %o gives working WASM and says why', async (kind, requestAdapter, reason) => {
    const chosen = await chooseBackend({ backend: kind, threads: 1 }, { ...isolated, requestAdapter });
    expect(chosen.info).toEqual({ kind: 'wasm', threads: 1, reason: expect.stringContaining(reason) });
    await probeBackend(chosen.backend);
  });

  it('says that WebGPU needs a secure context', async () => {
    const insecure = { ...isolated, isolated: false, secureContext: false };
    const { info } = await chooseBackend({ backend: 'webgpu', threads: 2 }, insecure);
    expect(info.threads).toBe(1);
    expect(info.reason).toMatch(/https or localhost.*not cross-origin isolated/);
  });

  it('runs on two threads in Node', async () => {
    const { backend, info } = await chooseBackend({ backend: 'wasm', threads: 2 });
    expect(info.threads).toBe(2);
    await probeBackend(backend);
  });

  it('names the address that does not answer', async () => {
    const wasmBase = new URL('./nowhere/', import.meta.url).href;
    await expect(chooseBackend({ backend: 'auto', threads: 1, wasmBase })).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      message: expect.stringContaining(`${wasmBase}ort-wasm-simd-threaded.mjs`),
    });
  });

  it('knows Node as able to share memory and without WebGPU', () => {
    expect(currentSurroundings()).toMatchObject({ isolated: true, sharedMemory: true, requestAdapter: null });
  });
});
