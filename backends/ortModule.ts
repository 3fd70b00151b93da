/**
 * The one file that knows where onnxruntime-web lies and how it is loaded: its bare emscripten module,
 * and its public API for the backends that have no access to the heap. It runs nothing.
 */
import type { WasmBase } from '../protocol/backendInfo.ts';
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';

export type { InferenceSession as OrtSession, Tensor as OrtTensor } from 'onnxruntime-web';
/** The public API, as all of onnxruntime's packages share it. */
export type OrtApi = typeof import('onnxruntime-web');
/** `webgpu` suspends by asyncify; `jspi` is the smaller build for browsers with WebAssembly promises. */
export type OrtApiKind = 'wasm' | 'webgpu' | 'jspi';

/** Files of onnxruntime-web's dist folder that `wasmBase` serves, by what needs them. */
export const ortFiles = {
  heap: ['ort-wasm-simd-threaded.mjs', 'ort-wasm-simd-threaded.wasm'],
  wasm: ['ort.wasm.min.mjs', 'ort-wasm-simd-threaded.mjs', 'ort-wasm-simd-threaded.wasm'],
  webgpu: [
    'ort.webgpu.min.mjs',
    'ort-wasm-simd-threaded.asyncify.mjs',
    'ort-wasm-simd-threaded.asyncify.wasm',
  ],
  jspi: ['ort.jspi.min.mjs', 'ort-wasm-simd-threaded.jspi.mjs', 'ort-wasm-simd-threaded.jspi.wasm'],
} as const;

type Pointer = number;

/** What this project uses of onnxruntime-web's emscripten module (pointers are 32 bits wide in these builds). */
export interface OrtModule {
  /** Replaced whenever the memory grows: never keep it across a call. */
  readonly HEAPU8: Uint8Array;
  _malloc(bytes: number): Pointer;
  _free(pointer: Pointer): void;
  getValue(pointer: Pointer, type: 'i32' | '*'): number;
  setValue(pointer: Pointer, value: number, type: 'i32' | '*'): void;
  UTF8ToString(pointer: Pointer): string;
  mountExternalData(path: string, data: Uint8Array): void;
  unmountExternalData(): void;
  _OrtInit(threads: number, logSeverity: number): number;
  _OrtGetLastError(code: Pointer, message: Pointer): number;
  _OrtCreateSessionOptions(
    graphOptimizationLevel: number,
    cpuMemoryArena: boolean,
    memoryPattern: boolean,
    executionMode: number,
    profiling: boolean,
    profileFilePrefix: Pointer,
    logId: Pointer,
    logSeverity: number,
    logVerbosity: number,
    optimizedModelPath: Pointer,
  ): Pointer;
  _OrtReleaseSessionOptions(options: Pointer): number;
  _OrtCreateSession(model: Pointer, bytes: number, options: Pointer): Pointer | Promise<Pointer>;
  _OrtReleaseSession(session: Pointer): number;
  _OrtGetInputOutputCount(session: Pointer, inputs: Pointer, outputs: Pointer): number;
  _OrtGetInputOutputMetadata(session: Pointer, index: number, name: Pointer, metadata: Pointer): number;
  _OrtFree(pointer: Pointer): number;
  _OrtCreateTensor(
    dataType: number,
    data: Pointer,
    bytes: number,
    dims: Pointer,
    rank: number,
    location: number,
  ): Pointer;
  _OrtGetTensorData(tensor: Pointer, dataType: Pointer, data: Pointer, dims: Pointer, rank: Pointer): number;
  _OrtReleaseTensor(tensor: Pointer): number;
  _OrtRun(
    session: Pointer,
    inputNames: Pointer,
    inputs: Pointer,
    inputCount: number,
    outputNames: Pointer,
    outputCount: number,
    outputs: Pointer,
    runOptions: Pointer,
  ): number | Promise<number>;
}

export interface OrtLocation {
  /**
   * Where onnxruntime-web's files lie. Without it they are resolved from node_modules, which only Node can do.
   */
  readonly wasmBase?: WasmBase | undefined;
}

export interface OrtModuleOptions extends OrtLocation {
  /** Threads of one inference, this one included; more than 1 needs SharedArrayBuffer. Default 1. */
  readonly threads?: number | undefined;
}

/** Only fatal messages: errors arrive as results, and warnings about unused weights would flood the console. */
export const ortLogSeverity = 4 as const;

/** A module instance with a heap of its own, initialised. Throws StarlingError BACKEND_UNAVAILABLE. */
export async function createOrtModule(options: OrtModuleOptions = {}): Promise<OrtModule> {
  const threads = options.threads ?? 1;
  const { default: factory } = await importFrom<{ default: (settings: object) => Promise<OrtModule> }>(
    addressOf('ort-wasm-simd-threaded.mjs', 'onnxruntime-web/ort-wasm-simd-threaded.mjs', options),
  );
  try {
    // Without locateFile the glue asks for the .wasm beside itself, which is where the pair lies in a directory.
    const { wasmBase } = options;
    const locate =
      typeof wasmBase === 'object' ? { locateFile: (name: string) => wasmBase[name] ?? name } : {};
    const module = await withinStartTime(factory({ numThreads: threads, ...locate }));
    if (module._OrtInit(threads, ortLogSeverity) !== 0) throw new Error('OrtInit failed');
    return module;
  } catch (thrown) {
    throw StarlingError.from(thrown, 'BACKEND_UNAVAILABLE', 'The WebAssembly runtime did not start');
  }
}

/**
 * onnxruntime's public API. Its settings are global to the page or Worker: the first call's threads and
 * directory hold. In Node only `wasm` is there. Throws StarlingError BACKEND_UNAVAILABLE.
 */
export async function loadOrtApi(kind: OrtApiKind, options: OrtModuleOptions = {}): Promise<OrtApi> {
  const api = await importFrom<OrtApi>(addressOf(`ort.${kind}.min.mjs`, 'onnxruntime-web', options));
  api.env.logLevel = 'fatal';
  api.env.wasm.initTimeout = limits.runtimeStartMs;
  api.env.wasm.numThreads = options.threads ?? 1;
  const { wasmBase } = options;
  if (typeof wasmBase === 'string') api.env.wasm.wasmPaths = directory(wasmBase);
  else if (wasmBase !== undefined) {
    const [, mjs, wasm] = ortFiles[kind].map((file) => addressOf(file, '', options));
    api.env.wasm.wasmPaths = {
      ...(mjs === undefined ? {} : { mjs }),
      ...(wasm === undefined ? {} : { wasm }),
    };
  }
  return api;
}

/** The glue waits for ever for a thread whose Worker is blocked, by a content policy for instance. */
async function withinStartTime<T>(starting: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const seconds = limits.runtimeStartMs / 1000;
    timer = setTimeout(() => reject(new Error(`not ready after ${seconds} s`)), limits.runtimeStartMs);
  });
  try {
    return await Promise.race([starting, late]);
  } finally {
    clearTimeout(timer);
  }
}

function addressOf(file: string, nodeSpecifier: string, { wasmBase }: OrtLocation): string {
  if (typeof wasmBase === 'string') return new URL(file, directory(wasmBase)).href;
  const address = wasmBase?.[file];
  if (address !== undefined) return address;
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node !== undefined) return import.meta.resolve(nodeSpecifier);
  throw new StarlingError(
    'BACKEND_UNAVAILABLE',
    `Expected the place of onnxruntime-web’s ${file} as wasmBase, got none; only Node finds it by itself.`,
  );
}

function directory(base: string): string {
  return base.endsWith('/') ? base : `${base}/`;
}

/** The address is a value so that no bundler follows it: the files are served as they are. */
async function importFrom<T>(address: string): Promise<T> {
  try {
    const namespace: T = await import(/* @vite-ignore */ /* webpackIgnore: true */ address);
    return namespace;
  } catch (thrown) {
    throw StarlingError.from(thrown, 'BACKEND_UNAVAILABLE', `onnxruntime-web did not load from ${address}`);
  }
}
