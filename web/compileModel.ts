/** A page's own model into a plan's files, in a Worker that lives for that only. */
import type { WasmBase } from '../protocol/backendInfo.ts';
import type { LoadModelOptions } from './roomApi.ts';
import { type OpenModel, openModelFile } from './worker/compileWorker.ts';

/** Rejects as compileModel does, RUN_ABORTED or WORKER_DIED. */
export async function compileInWorker(
  model: Blob | Uint8Array<ArrayBuffer> | OpenModel,
  numShards: number,
  wasmBase: WasmBase,
  { shards, dataFiles, signal, onProgress, name = 'model', axis = 'channels', ...rest }: LoadModelOptions,
): Promise<ReadonlyMap<string, Uint8Array>> {
  onProgress?.({ phase: 'read' });
  const opened = 'signature' in model ? model : await openModelFile(toBlob(model), { dataFiles, signal });
  try {
    const wishes = { ...rest, name, axis, numShards: shards ?? numShards };
    return await opened.compile(wishes, wasmBase, (step) => onProgress?.({ phase: 'compile', step }));
  } finally {
    opened.close();
  }
}

function toBlob(model: Blob | Uint8Array<ArrayBuffer>): Blob {
  return model instanceof Blob ? model : new Blob([model]);
}
