/** A model in a Worker of its own: read, then compiled. Closing it ends the Worker and gives its memory back. */
import * as Comlink from 'comlink';
import type { WasmBase } from '../../protocol/backendInfo.ts';
import type { CompileStep } from '../../protocol/compileChoices.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Packed } from '../../protocol/wireError.ts';
import type { CompileApi, CompileWishes, ModelSignature } from '../../workers/compileApi.ts';
import { watchWorker } from './workerCalls.ts';

export interface OpenModel {
  readonly signature: ModelSignature;
  /** The plan's files by name. Rejects as compileModel does, or WORKER_DIED. */
  compile(
    wishes: CompileWishes,
    wasmBase: WasmBase,
    onStep?: (step: CompileStep) => void,
  ): Promise<ReadonlyMap<string, Uint8Array>>;
  /** Ends the Worker; a pending call rejects with RUN_ABORTED. */
  close(): void;
}

export interface OpenModelOptions {
  /** Files in which the model may keep weights, by name, or by path where it names folders. */
  readonly dataFiles?: ReadonlyMap<string, Blob> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads a model; its bytes never come to the page. Whoever opens it closes it, or aborts `signal`.
 * Rejects MODEL_UNREADABLE, DATA_FILE_MISSING, MODEL_UNSUPPORTED, GRAPH_INVALID, FILE_UNREADABLE, RUN_ABORTED or WORKER_DIED.
 */
export async function openModelFile(
  file: Blob,
  { dataFiles = new Map(), signal }: OpenModelOptions = {},
): Promise<OpenModel> {
  const aborted = () => new StarlingError('RUN_ABORTED', 'Compiling the model was called off.');
  if (signal?.aborted === true) throw aborted();
  const worker = new Worker(new URL('../../workers/compile.worker.ts', import.meta.url), { type: 'module' });
  const remote = Comlink.wrap<Packed<CompileApi>>(worker);
  const { call, end } = watchWorker(worker, 'compiles the model');
  const close = () => {
    signal?.removeEventListener('abort', close);
    end(aborted());
  };
  signal?.addEventListener('abort', close);
  try {
    const signature = await call(() => remote.open(file, dataFiles));
    return {
      signature,
      compile: (wishes, wasmBase, onStep = () => undefined) =>
        call(() => remote.compile(wishes, wasmBase, Comlink.proxy(onStep))),
      close,
    };
  } catch (thrown) {
    close();
    throw thrown;
  }
}
