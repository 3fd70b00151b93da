/**
 * The WASM backend that keeps values in onnxruntime's own heap: what one session puts out, another takes in
 * without a copy. Works in Node and in a browser's Worker.
 */
import type { Tensor } from '../graph/tensor.ts';
import type { Backend } from '../runtime/backend.ts';
import { createHeapSession, type HeapSessionOptions } from './heapSession.ts';
import { uploadToHeap } from './heapTensor.ts';
import { createOrtModule, type OrtModule, type OrtModuleOptions } from './ortModule.ts';
import { serialQueue } from './serialQueue.ts';

export interface HeapBackendOptions extends OrtModuleOptions {
  readonly session?: Partial<HeapSessionOptions>;
}

/** Every call loads a module with a heap of its own. Throws StarlingError BACKEND_UNAVAILABLE. */
export async function createHeapBackend(options: HeapBackendOptions = {}): Promise<Backend> {
  return heapBackend(await createOrtModule(options), options.session);
}

/** The backend over a module that is already loaded. */
export function heapBackend(module: OrtModule, session: Partial<HeapSessionOptions> = {}): Backend {
  const sessionOptions: HeapSessionOptions = { arena: false, memoryPattern: false, config: {}, ...session };
  const queue = serialQueue();
  return {
    name: 'wasm',
    upload: (tensor: Tensor) => uploadToHeap(module, tensor),
    createSession: (model, externalData = []) =>
      queue(() => createHeapSession(module, queue, model, externalData, sessionOptions)),
  };
}
