/**
 * A Session over the exports of an OrtModule: OrtValues in, OrtValues out, no copy between. Creating one is
 * here too; what queues the calls is given by the backend.
 */
import { StarlingError } from '../protocol/errors.ts';
import type { ExternalData, Session, TensorHandle } from '../runtime/backend.ts';
import { assertFeeds } from './assertFeeds.ts';
import {
  allocate,
  copyIn,
  lastError,
  pointerBytes,
  readPointers,
  sessionFailed,
  withCells,
  writePointers,
} from './heapMemory.ts';
import { adoptOutput, HeapTensor } from './heapTensor.ts';
import { type OrtModule, ortLogSeverity } from './ortModule.ts';
import type { SerialQueue } from './serialQueue.ts';

const allGraphOptimizations = 99;
const sequentialExecution = 0;

interface Port {
  readonly name: string;
  /** Address of the name as a C string, owned by onnxruntime. */
  readonly pointer: number;
}

class HeapSession implements Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly #module: OrtModule;
  readonly #queue: SerialQueue;
  readonly #session: number;
  readonly #inputs: readonly Port[];
  readonly #outputs: readonly Port[];
  /** Cells that live as long as the session: input names, input values, output names, output values. */
  readonly #cells: number;
  #released = false;

  constructor(module: OrtModule, queue: SerialQueue, session: number, inputs: Port[], outputs: Port[]) {
    this.#module = module;
    this.#queue = queue;
    this.#session = session;
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.inputNames = inputs.map((port) => port.name);
    this.outputNames = outputs.map((port) => port.name);
    this.#cells = allocate(module, 2 * (inputs.length + outputs.length) * pointerBytes);
    writePointers(
      module,
      this.#cells,
      inputs.map((port) => port.pointer),
    );
    writePointers(
      module,
      this.#cells + 2 * inputs.length * pointerBytes,
      outputs.map((port) => port.pointer),
    );
  }

  run(inputs: ReadonlyMap<string, TensorHandle>): Promise<ReadonlyMap<string, TensorHandle>> {
    return this.#queue(() => this.#run(inputs));
  }

  release(): Promise<void> {
    return this.#queue(() => {
      if (this.#released) return;
      this.#released = true;
      for (const port of [...this.#inputs, ...this.#outputs]) this.#module._OrtFree(port.pointer);
      this.#module._free(this.#cells);
      this.#module._OrtReleaseSession(this.#session);
    });
  }

  async #run(feeds: ReadonlyMap<string, TensorHandle>): Promise<ReadonlyMap<string, TensorHandle>> {
    if (this.#released) throw new StarlingError('SESSION_FAILED', 'The session was run after its release.');
    const module = this.#module;
    const [inputCount, outputCount] = [this.#inputs.length, this.#outputs.length];
    const inputValues = this.#cells + inputCount * pointerBytes;
    const outputNames = inputValues + inputCount * pointerBytes;
    const outputValues = outputNames + outputCount * pointerBytes;
    writePointers(module, inputValues, this.#inputValues(feeds));
    // Null: onnxruntime allocates the outputs.
    writePointers(module, outputValues, new Array<number>(outputCount).fill(0));
    let status: number;
    try {
      // A plain number in this build; builds that suspend the stack return a promise.
      const running = module._OrtRun(
        this.#session,
        this.#cells,
        inputValues,
        inputCount,
        outputNames,
        outputCount,
        outputValues,
        0,
      );
      status = typeof running === 'number' ? running : await running;
    } catch (thrown) {
      throw sessionFailed('The run failed', thrown);
    }
    if (status !== 0) throw new StarlingError('SESSION_FAILED', `The run failed: ${lastError(module)}`);
    return this.#adopt(readPointers(module, outputValues, outputCount));
  }

  #inputValues(feeds: ReadonlyMap<string, TensorHandle>): number[] {
    assertFeeds(this.inputNames, feeds);
    return this.inputNames.map((name) => {
      const handle = feeds.get(name);
      if (handle instanceof HeapTensor) return handle.valueIn(this.#module);
      throw new StarlingError('INTERNAL', `Input "${name}" is no handle of this backend.`);
    });
  }

  #adopt(values: readonly number[]): ReadonlyMap<string, TensorHandle> {
    const adopted = new Map<string, HeapTensor>();
    try {
      values.forEach((value, i) => {
        const name = this.outputNames[i] ?? '';
        adopted.set(name, adoptOutput(this.#module, name, value));
      });
      return adopted;
    } catch (thrown) {
      for (const handle of adopted.values()) handle.release();
      for (const value of values.slice(adopted.size + 1)) this.#module._OrtReleaseTensor(value);
      throw thrown;
    }
  }
}

/** Must run inside the queue: mounted external data is a state of the whole module. */
export async function createHeapSession(
  module: OrtModule,
  queue: SerialQueue,
  model: Uint8Array,
  externalData: readonly ExternalData[],
): Promise<Session> {
  const prefix = 'The session could not be created';
  const settings = createSessionOptions(module);
  let modelPointer = 0;
  let session = 0;
  try {
    modelPointer = copyIn(module, model);
    for (const { path, data } of externalData) module.mountExternalData(path, data);
    session = await module._OrtCreateSession(modelPointer, model.byteLength, settings);
    if (session === 0) throw new StarlingError('SESSION_FAILED', `${prefix}: ${lastError(module)}`);
    const { inputs, outputs } = ports(module, session);
    return new HeapSession(module, queue, session, inputs, outputs);
  } catch (thrown) {
    if (session !== 0) module._OrtReleaseSession(session);
    throw sessionFailed(prefix, thrown);
  } finally {
    module.unmountExternalData();
    if (modelPointer !== 0) module._free(modelPointer);
    module._OrtReleaseSessionOptions(settings);
  }
}

function createSessionOptions(module: OrtModule): number {
  // Neither arena nor memory pattern: measured without effect on one thread, and both hold memory.
  const settings = module._OrtCreateSessionOptions(
    allGraphOptimizations,
    false,
    false,
    sequentialExecution,
    false,
    0,
    0,
    ortLogSeverity,
    0,
    0,
  );
  if (settings === 0) throw new StarlingError('SESSION_FAILED', `No session options: ${lastError(module)}`);
  return settings;
}

function ports(module: OrtModule, session: number): { inputs: Port[]; outputs: Port[] } {
  return withCells(module, 2, (cells) => {
    if (module._OrtGetInputOutputCount(session, cells, cells + pointerBytes) !== 0) {
      throw new StarlingError('SESSION_FAILED', lastError(module));
    }
    const [inputCount = 0, outputCount = 0] = readPointers(module, cells, 2);
    const all = Array.from({ length: inputCount + outputCount }, (_, index): Port => {
      if (module._OrtGetInputOutputMetadata(session, index, cells, cells + pointerBytes) !== 0) {
        throw new StarlingError('SESSION_FAILED', lastError(module));
      }
      const [pointer = 0, metadata = 0] = readPointers(module, cells, 2);
      module._OrtFree(metadata);
      return { name: module.UTF8ToString(pointer), pointer };
    });
    return { inputs: all.slice(0, inputCount), outputs: all.slice(inputCount) };
  });
}
