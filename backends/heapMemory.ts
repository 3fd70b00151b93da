/**
 * Reads and writes in the heap of an OrtModule: blocks, strings, pointers and the last error. Frees nothing
 * by itself except where it says so.
 */
import { StarlingError } from '../protocol/errors.ts';
import type { OrtModule } from './ortModule.ts';

export const pointerBytes = 4;

/** Allocates or throws: a null pointer would be written to as address 0. */
export function allocate(module: OrtModule, bytes: number): number {
  const pointer = module._malloc(Math.max(bytes, 1));
  if (pointer === 0) {
    throw new StarlingError(
      'SESSION_FAILED',
      `The WebAssembly memory has no room for ${bytes} more bytes; use a smaller input or more devices.`,
    );
  }
  return pointer;
}

/** A view of heap bytes, good until the next call into the module. */
export function heapBytes(module: OrtModule, pointer: number, bytes: number): Uint8Array {
  // getValue renews HEAPU8 when another thread has grown the memory; reading HEAPU8 alone does not.
  module.getValue(pointer, 'i32');
  return module.HEAPU8.subarray(pointer, pointer + bytes);
}

export function copyIn(module: OrtModule, data: Uint8Array): number {
  const pointer = allocate(module, data.byteLength);
  heapBytes(module, pointer, data.byteLength).set(data);
  return pointer;
}

export function readPointers(module: OrtModule, pointer: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => module.getValue(pointer + i * pointerBytes, '*'));
}

export function writePointers(module: OrtModule, pointer: number, values: readonly number[]): void {
  values.forEach((value, i) => {
    module.setValue(pointer + i * pointerBytes, value, '*');
  });
}

/** Lends `count` pointer-sized cells for the time of a call. */
export function withCells<T>(module: OrtModule, count: number, use: (cells: number) => T): T {
  const cells = allocate(module, count * pointerBytes);
  try {
    return use(cells);
  } finally {
    module._free(cells);
  }
}

/** onnxruntime's own sentence about what failed last. */
export function lastError(module: OrtModule): string {
  return withCells(module, 2, (cells) => {
    module._OrtGetLastError(cells, cells + pointerBytes);
    const message = module.getValue(cells + pointerBytes, '*');
    return message === 0 ? 'onnxruntime gave no reason' : module.UTF8ToString(message);
  });
}

/** SESSION_FAILED around whatever came out of the module; C++ exceptions arrive as bare numbers. */
export function sessionFailed(prefix: string, thrown: unknown): StarlingError {
  const reason = typeof thrown === 'number' ? new Error('a C++ exception, most often out of memory') : thrown;
  return StarlingError.from(reason, 'SESSION_FAILED', prefix);
}
