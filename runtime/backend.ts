/**
 * What the runtime needs of an inference engine, passed in as an argument: sessions that take and
 * give handles, so that a value which stays on the device is never copied out of the engine's memory.
 */
import type { Tensor } from '../graph/tensor.ts';

/** A tensor in the engine's memory. */
export interface TensorHandle {
  readonly dataType: Tensor['dataType'];
  readonly dims: readonly number[];
  /** Copies the elements out (asynchronous because a GPU answers later). */
  read(): Promise<Tensor> | Tensor;
  /** The elements where they lie, good until the next call into the engine; undefined where they cannot be seen. */
  peek(): Tensor | undefined;
  /** Gives the memory back; every handle is released exactly once by whoever holds it. */
  release(): void;
}

export interface ExternalData {
  /** The `location` that initializers of the model name. */
  readonly path: string;
  readonly data: Uint8Array;
}

export interface Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /**
   * One inference. Inputs stay the caller's (they may feed other sessions); outputs become the caller's.
   * Concurrent calls are queued by the backend. Throws StarlingError SESSION_FAILED.
   */
  run(inputs: ReadonlyMap<string, TensorHandle>): Promise<ReadonlyMap<string, TensorHandle>>;
  release(): Promise<void>;
}

export interface Backend {
  readonly name: string;
  /** Size of the engine's memory, which only grows; left out where it cannot be seen. */
  heapBytes?(): number;
  /** Copies a tensor into the engine's memory. */
  upload(tensor: Tensor): TensorHandle;
  /** `model` is a serialised ONNX ModelProto. */
  createSession(model: Uint8Array, externalData?: readonly ExternalData[]): Promise<Session>;
}
