/**
 * The WASM backend that keeps values in onnxruntime's own heap: what one session puts out, another takes in
 * without a copy. Works in Node and in a browser's Worker.
 */
import type { Backend } from '../runtime/backend.ts';
import { createHeapSession } from './heapSession.ts';
import { uploadToHeap } from './heapTensor.ts';
import { createOrtModule, type OrtModule, type OrtModuleOptions } from './ortModule.ts';
import { serialQueue } from './serialQueue.ts';

/** Every call loads a module with a heap of its own. Throws StarlingError BACKEND_UNAVAILABLE. */
export async function createHeapBackend(options: OrtModuleOptions = {}): Promise<Backend> {
  return heapBackend(await createOrtModule(options));
}

/** The backend over a module that is already loaded. */
export function heapBackend(module: OrtModule): Backend {
  const queue = serialQueue();
  return {
    name: 'wasm',
    // getValue renews HEAPU8 when another thread has grown the memory.
    heapBytes: () => {
      module.getValue(0, 'i32');
      return module.HEAPU8.byteLength;
    },
    upload: (tensor) => uploadToHeap(module, tensor),
    createSession: (model, externalData = []) =>
      queue(() => createHeapSession(module, queue, model, externalData)),
  };
}
