/**
 * Decides which backend this page, Worker or process uses, and says why. Whether WebGPU would be faster is
 * not decided here: that takes a measurement on the model.
 */

import type { BackendInfo, BackendKind, WasmBase } from '../protocol/backendInfo.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import { createHeapBackend } from './ortHeap.ts';
import { createSessionBackend } from './ortSession.ts';
import { createWebgpuBackend } from './ortWebgpu.ts';

export interface BackendRequest {
  readonly backend: BackendKind | 'auto';
  /** Threads wished for; one is used where SharedArrayBuffer is missing. */
  readonly threads: number;
  /** Where onnxruntime-web's files lie; not needed in Node. */
  readonly wasmBase?: WasmBase | undefined;
}

export interface ChosenBackend {
  readonly backend: Backend;
  readonly info: BackendInfo;
}

/** What the decision depends on, as far as the surroundings are concerned. */
export interface Surroundings {
  readonly isolated: boolean;
  readonly sharedMemory: boolean;
  readonly secureContext: boolean;
  /** Null without WebGPU. */
  readonly requestAdapter: (() => Promise<Adapter | null>) | null;
}

/** What is asked of a GPUAdapter. */
export interface Adapter {
  readonly features: { has(feature: string): boolean };
}

/**
 * A request for `webgpu` that cannot be met falls back to `wasm`; `info.reason` says so. Throws StarlingError
 * BACKEND_UNAVAILABLE when not even WASM starts.
 */
export async function chooseBackend(
  request: BackendRequest,
  surroundings: Surroundings = currentSurroundings(),
): Promise<ChosenBackend> {
  const { wasmBase } = request;
  let why = request.backend === 'auto' ? 'WASM until WebGPU is measured faster' : 'WASM was asked for';
  if (request.backend === 'webgpu') {
    const gpu = await createGpu(surroundings, wasmBase);
    if (typeof gpu !== 'string') {
      const reason = `WebGPU was asked for and works${gpu.float16 ? '' : ', without float16'}.`;
      return { backend: gpu.backend, info: { kind: 'webgpu', threads: 1, reason } };
    }
    why = `WASM, because ${gpu}`;
  }
  const wished = chooseThreads(request.threads, surroundings);
  const { backend, threads, setback } = await createWasm(wished.threads, wasmBase);
  const reason = [why, wished.reason, ...setback].join('; ');
  return { backend, info: { kind: 'wasm', threads, reason: `${reason}.` } };
}

/** The number of threads and the reason for it. */
export function chooseThreads(
  wished: number,
  { isolated, sharedMemory }: Surroundings,
): { threads: number; reason: string } {
  if (!Number.isInteger(wished) || wished < 1) {
    throw new StarlingError('BACKEND_UNAVAILABLE', `Expected 1 or more threads, got ${wished}.`);
  }
  if (wished === 1) return { threads: 1, reason: 'one thread' };
  if (!isolated) return { threads: 1, reason: 'one thread, because the page is not cross-origin isolated' };
  // WebKitGTK reports isolation without it.
  if (!sharedMemory)
    return { threads: 1, reason: 'one thread, because the browser has no SharedArrayBuffer' };
  return { threads: wished, reason: `${wished} threads` };
}

/** The backend, or why there is none. */
async function createGpu(
  { requestAdapter, secureContext }: Surroundings,
  wasmBase: WasmBase | undefined,
): Promise<{ backend: Backend; float16: boolean } | string> {
  if (requestAdapter === null) {
    return secureContext ? 'this browser has no WebGPU' : 'WebGPU needs https or localhost';
  }
  try {
    const adapter = await requestAdapter();
    if (adapter === null) return 'WebGPU has no adapter here';
    return {
      backend: await createWebgpuBackend({ wasmBase }),
      float16: adapter.features.has('shader-f16'),
    };
  } catch (thrown) {
    return `WebGPU failed (${thrown instanceof Error ? thrown.message : String(thrown)})`;
  }
}

interface WasmBackend {
  readonly backend: Backend;
  readonly threads: number;
  /** What had to be given up, if anything. */
  readonly setback: readonly string[];
}

async function createWasm(threads: number, wasmBase: WasmBase | undefined): Promise<WasmBackend> {
  const heap = async (count: number, setback: readonly string[]): Promise<WasmBackend> => {
    return { backend: await createHeapBackend({ threads: count, wasmBase }), threads: count, setback };
  };
  try {
    return await heap(threads, []);
  } catch (first) {
    try {
      if (threads > 1) return await heap(1, ['one thread, because more did not start']);
      const backend = await createSessionBackend({ threads: 1, wasmBase });
      return { backend, threads: 1, setback: ['values are copied, because the heap cannot be reached'] };
    } catch {
      // All of them load the same files, so the first reason is the one that helps.
      throw first;
    }
  }
}

export function currentSurroundings(): Surroundings {
  const scope = globalThis as {
    crossOriginIsolated?: boolean;
    isSecureContext?: boolean;
    process?: { versions?: { node?: string } };
    navigator?: { gpu?: { requestAdapter(): Promise<Adapter | null> } };
  };
  const inNode = scope.process?.versions?.node !== undefined;
  const gpu = scope.navigator?.gpu;
  return {
    // Node shares memory with its workers without any header.
    isolated: inNode || scope.crossOriginIsolated === true,
    sharedMemory: typeof SharedArrayBuffer !== 'undefined',
    secureContext: inNode || scope.isSecureContext === true,
    requestAdapter: gpu === undefined ? null : () => gpu.requestAdapter(),
  };
}
