/** `--backend`: the native runtime where it is installed, which is several times as fast in Node, or WASM. */
import { createHeapBackend } from '../backends/ortHeap.ts';
import { createNodeBackend } from '../backends/ortNode.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import { oneOf } from './evalTasks.ts';

/** `auto` takes what there is; `native` throws BACKEND_UNAVAILABLE where it is not. Throws USAGE. */
export async function chooseBackend(text: string): Promise<Backend> {
  const choice = oneOf(['auto', 'native', 'wasm'], text, '--backend');
  if (choice === 'wasm') return createHeapBackend();
  try {
    return await createNodeBackend();
  } catch (thrown) {
    const error = StarlingError.from(thrown, 'BACKEND_UNAVAILABLE');
    if (choice === 'native' || error.code !== 'BACKEND_UNAVAILABLE') throw error;
    return createHeapBackend();
  }
}
