/** Entry of the Worker that compiles a model which a page was given: the file is read here, the plan's files move out. */
import * as Comlink from 'comlink';
import { lazyBackend } from '../backends/lazyBackend.ts';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { compileModel } from '../compiler/compile.ts';
import { dataFilesOf } from '../graph/externalData.ts';
import { describeForeignBytes } from '../graph/foreignBytes.ts';
import { loadModel } from '../graph/load.ts';
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import { type Packed, packResult } from '../protocol/wireError.ts';
import type { CompileApi, ModelSignature } from './compileApi.ts';
import { matchDataFiles } from './dataFiles.ts';

interface Opened {
  readonly bytes: Uint8Array;
  readonly dataFiles: ReadonlyMap<string, Uint8Array>;
}

let model: Opened | null = null;

async function open(file: Blob, given: ReadonlyMap<string, Blob>): Promise<ModelSignature> {
  checkSize(file.size);
  // What cannot be a model by its first bytes is not read any further, however large it is.
  const head = new Uint8Array(await file.slice(0, 256).arrayBuffer());
  if (describeForeignBytes(head) !== undefined) loadModel(head);
  const bytes = await readFile(file);
  const matched = matchDataFiles(dataFilesOf(bytes), given);
  checkSize([...matched.values()].reduce((sum, { size }) => sum + size, file.size));
  const dataFiles = new Map<string, Uint8Array>();
  for (const [path, blob] of matched) dataFiles.set(path, await readFile(blob));
  const opened = { bytes, dataFiles };
  const { inputs, outputs } = loadModel(bytes, externalOf(opened)).graph;
  model = opened;
  return { bytes: bytes.byteLength, inputs, outputs };
}

function checkSize(bytes: number): void {
  if (bytes <= limits.modelBytes) return;
  throw new StarlingError(
    'MODEL_UNSUPPORTED',
    `The model has ${bytes} bytes; a page compiles models of at most ${limits.modelBytes}: use "starling compile" and load the plan.`,
  );
}

/** All files that the model names are there. */
function externalOf({ dataFiles }: Opened): (path: string) => Uint8Array {
  return (path) => dataFiles.get(path) ?? new Uint8Array(0);
}

async function readFile(file: Blob): Promise<Uint8Array> {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch (thrown) {
    throw StarlingError.from(thrown, 'FILE_UNREADABLE', 'The browser could not read the file');
  }
}

const packed: Packed<CompileApi> = {
  open: (file, dataFiles) => packResult(() => open(file, dataFiles)),
  async compile(wishes, wasmBase, onStep) {
    const result = await packResult(async () => {
      if (model === null) throw new StarlingError('MODEL_NOT_FOUND', 'No model is open; open one first.');
      // One thread: the room's devices may be computing, and a model is run once only, if at all.
      const backend = lazyBackend('wasm', () => createHeapBackend({ threads: 1, wasmBase }));
      const external = externalOf(model);
      const { files } = await compileModel(model.bytes, { ...wishes, external, backend, onStep });
      return new Map([...files].map(([name, bytes]) => [name, ownBuffer(bytes)]));
    });
    if (!result.ok) return result;
    return Comlink.transfer(result, [...new Set([...result.value.values()].map(({ buffer }) => buffer))]);
  },
};

/** Bytes in a buffer that holds nothing else, so that it can move. */
function ownBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const whole = buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength;
  return whole ? new Uint8Array(buffer) : bytes.slice();
}

Comlink.expose(packed);
