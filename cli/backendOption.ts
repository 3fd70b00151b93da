/** `--backend`: the native runtime where it is installed, which is several times as fast in Node, or WASM. */
import { createHeapBackend } from '../backends/ortHeap.ts';
import { createNodeBackend } from '../backends/ortNode.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import { oneOf } from './evalTasks.ts';

export interface BackendOptions {
  /** Of one inference. */
  readonly threads?: number | undefined;
  /** Told why the native runtime is not taken. */
  readonly onFallback?: (why: string) => void;
}

/** `auto` takes what there is; `native` throws BACKEND_UNAVAILABLE where it is not. Throws USAGE. */
export async function chooseBackend(
  text: string,
  { threads, onFallback }: BackendOptions = {},
): Promise<Backend> {
  const choice = oneOf(['auto', 'native', 'wasm'], text, '--backend');
  if (choice === 'wasm') return createHeapBackend({ threads });
  try {
    return await createNodeBackend({ threads });
  } catch (thrown) {
    const error = StarlingError.from(thrown, 'BACKEND_UNAVAILABLE');
    if (choice === 'native' || error.code !== 'BACKEND_UNAVAILABLE') throw error;
    onFallback?.(error.message);
    return createHeapBackend({ threads });
  }
}
